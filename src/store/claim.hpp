#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "src/store/run_folder.hpp"

namespace headtorch::store {

/// A folder that is ours alone as long as this object lives. The lock (flock on the folder) ends with the
/// process, however it ends, so a killed run never blocks its folder.
class ClaimedFolder {
 public:
  /// @throws CannotCreate when another run holds it.
  explicit ClaimedFolder(std::filesystem::path path);
  ClaimedFolder(const ClaimedFolder&) = delete;
  ClaimedFolder& operator=(const ClaimedFolder&) = delete;
  ~ClaimedFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// Creates runs/TASK-NNN with the first free number.  @throws CannotCreate.
std::shared_ptr<ClaimedFolder> claim_numbered(std::string_view task);

/// Creates `folder` or takes an empty one; under kOverwrite empties that of an earlier run: the files that a
/// run writes, no others, and never through a symbolic link.  @throws CannotCreate.
std::shared_ptr<ClaimedFolder> claim_folder(const std::filesystem::path& folder, Occupied occupied);

/// Creates a folder next to `folder` with a name that nobody else uses.  @throws CannotCreate.
std::filesystem::path make_unfinished(const std::filesystem::path& folder);

/// Renames `unfinished` to `folder`, durably; one that is already there is replaced in one step.  @throws
/// InputOutputError.
void finish_folder(const std::filesystem::path& unfinished, const std::filesystem::path& folder);

}  // namespace headtorch::store
