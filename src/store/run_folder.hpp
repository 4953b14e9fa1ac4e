#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headtorch::store {

class ClaimedFolder;

enum class Occupied { kRefuse, kOverwrite };

/// A run on disk (docs/run_folder.md). Paths only and whole-file writes: what is in the files is the caller's
/// matter.
class RunFolder {
 public:
  /// Creates `out`, or the first free `runs/TASK-NNN` (from 001) when `out` is empty; two at once never get
  /// the same, and the folder stays locked as long as an object lives. Under kOverwrite the files of an
  /// earlier run are removed first; a folder that is not a run is refused even then.
  /// @throws CannotCreate when it is occupied or cannot be created.
  static RunFolder create(std::string_view task, const std::filesystem::path& out, Occupied occupied);
  /// Opens an existing run.  @throws InputMissing unless it holds a config.toml.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// Writes one file under the run, durably, creating its folder.
  void write(const std::filesystem::path& relative, std::string_view bytes) const;
  /// Adds to the end of one file, in one write: a reader never sees half of it.
  void append(const std::filesystem::path& relative, std::string_view bytes) const;
  /// Adds one line to metrics.jsonl.
  void append_metrics(std::string_view json_line) const;

  /// Writes checkpoints/step-NNNNNNNN/ with the files given and a manifest.json (sizes, XXH3 checksums):
  /// complete or absent.
  void write_checkpoint(std::int64_t step, const std::map<std::string, std::string>& files) const;
  /// Steps that have a checkpoint folder, ascending.
  std::vector<std::int64_t> checkpoint_steps() const;
  /// One file of a checkpoint, checked against the manifest.  @throws InputMissing, DataError naming the
  /// damaged file.
  std::string read_checkpoint_file(std::int64_t step, std::string_view name) const;

 private:
  RunFolder(std::filesystem::path path, std::shared_ptr<ClaimedFolder> claim);

  std::filesystem::path path_;
  std::shared_ptr<ClaimedFolder> claim_;  ///< keeps other processes out; null for a run opened to be read
};

/// `step-00000600`.
std::string step_name(std::int64_t step);

}  // namespace headtorch::store
