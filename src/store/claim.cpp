#include "src/store/claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "src/core/error.hpp"
#include "src/core/file.hpp"

namespace headtorch::store {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfigFile = "config.toml";

bool has_real_folder(const fs::path& path) {
  std::error_code failed;
  return fs::symlink_status(path, failed).type() == fs::file_type::directory;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    entries.push_back(entry->path());
  }
  if (failed) throw CannotCreate(folder.string(), fmt::format("cannot be listed: {}", failed.message()));
  return entries;
}

void remove_file(const fs::path& path) {
  std::error_code failed;
  fs::remove(path, failed);
  if (failed) throw CannotCreate(path.string(), fmt::format("cannot be removed: {}", failed.message()));
}

/// Removes the files of `folder` whose names start so, then the folder itself if nothing is left.
void remove_files(const fs::path& folder, const std::vector<std::string_view>& prefixes) {
  if (!has_real_folder(folder)) return;
  for (const fs::path& path : entries_of(folder)) {
    const std::string name = path.filename().string();
    const auto fits = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (!has_real_folder(path) && std::any_of(prefixes.begin(), prefixes.end(), fits)) remove_file(path);
  }
  std::error_code not_empty;
  fs::remove(folder, not_empty);
}

/// The same in each folder of `folder` whose name starts so (a leading dot, of an unfinished one, does not
/// count).
void remove_files_below(const fs::path& folder, std::string_view start,
                        const std::vector<std::string_view>& prefixes) {
  if (!has_real_folder(folder)) return;
  for (const fs::path& path : entries_of(folder)) {
    const std::string name = path.filename().string();
    if (name.starts_with(start) || name.starts_with("." + std::string(start))) remove_files(path, prefixes);
  }
  std::error_code not_empty;
  fs::remove(folder, not_empty);
}

/// A file that a run keeps in its own folder, or what a killed write left of it.
bool is_run_file(std::string_view name) {
  for (const std::string file :
       {"config.toml", "metrics.jsonl", "heads.json", "heads.jsonl", "diagnosis.json", "report.html",
        "result.json", "by_points.png", "compare.json", "compare.png", "compare.svg"}) {
    if (name == file || name.starts_with(file + ".tmp-")) return true;
  }
  return name.starts_with("events.out.tfevents.");
}

/// config.toml goes last: until then the folder can be recognised, and emptied again, as a run.
void remove_run_files(const fs::path& run) {
  remove_files_below(run / "checkpoints", "step-",
                     {"model.safetensors", "trainer.safetensors", "manifest.json"});
  remove_files_below(run / "attention", "step-", {"layer-", "tokens.json"});
  remove_files_below(run / "heatmaps", "", {"layer-"});
  remove_files(run / "heatmaps", {"layer-"});
  const std::vector<std::string_view> of_heads = {"heads.csv", "kernels-layer-", "layer-", "rollout.",
                                                  "history.png"};
  remove_files(run / "heads", of_heads);
  remove_files_below(run / "heads", "step-", of_heads);
  const std::vector<std::string_view> of_ablation = {"heads.csv", "removal.", "ablation.json"};
  remove_files(run / "ablation", of_ablation);
  remove_files_below(run / "ablation", "step-", of_ablation);
  for (const fs::path& path : entries_of(run)) {
    const std::string name = path.filename().string();
    if (is_run_file(name) && name != kConfigFile) remove_file(path);
  }
  remove_file(run / kConfigFile);
}

}  // namespace

ClaimedFolder::ClaimedFolder(fs::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // File systems without locks are used without: an atomic mkdir still keeps numbered runs apart.
  if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw CannotCreate(path_.string(), "is in use by another run: expected another folder");
  }
}

ClaimedFolder::~ClaimedFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::shared_ptr<ClaimedFolder> claim_numbered(std::string_view task) {
  if (task.empty() || task.find_first_of(std::string_view("/\\\0", 3)) != std::string_view::npos) {
    throw Error(ExitCode::kInternal, "run folder", fmt::format("\"{}\" is no name for a run", task));
  }
  const fs::path runs = "runs";
  make_folder(runs);
  for (int number = 1;; ++number) {
    const fs::path folder = runs / fmt::format("{}-{:03}", task, number);
    if (::mkdir(folder.c_str(), 0777) == 0) {
      sync_folder(runs);
      return std::make_shared<ClaimedFolder>(folder);
    }
    if (errno != EEXIST) {
      throw CannotCreate(folder.string(),
                         fmt::format("the folder cannot be created: {}", std::strerror(errno)));
    }
  }
}

std::shared_ptr<ClaimedFolder> claim_folder(const fs::path& folder, Occupied occupied) {
  make_folder(folder);
  auto claimed = std::make_shared<ClaimedFolder>(folder);
  if (entries_of(folder).empty()) return claimed;
  if (occupied == Occupied::kRefuse) {
    throw CannotCreate(folder.string(),
                       "is not empty: expected a new or empty folder, or --overwrite for an earlier run");
  }
  std::error_code failed;
  if (!fs::is_regular_file(folder / kConfigFile, failed)) {
    throw CannotCreate(
        folder.string(),
        fmt::format("is not empty and no earlier run (it has no {}): expected another folder", kConfigFile));
  }
  remove_run_files(folder);
  return claimed;
}

fs::path make_unfinished(const fs::path& folder) {
  static std::atomic<unsigned> counter{0};
  while (true) {
    const fs::path unfinished =
        folder.parent_path() / fmt::format(".{}-{}-{}", folder.filename().string(), ::getpid(), counter++);
    if (::mkdir(unfinished.c_str(), 0777) == 0) return unfinished;
    if (errno != EEXIST) {
      throw CannotCreate(folder.string(), fmt::format("cannot be created: {}", std::strerror(errno)));
    }
  }
}

void finish_folder(const fs::path& unfinished, const fs::path& folder) {
  int failed = ::rename(unfinished.c_str(), folder.c_str());
  if (failed != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {
    failed = ::renameat2(AT_FDCWD, unfinished.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE);
    if (failed == 0) {
      std::error_code ignored;
      fs::remove_all(unfinished, ignored);
    }
  }
  if (failed != 0)
    throw InputOutputError(folder.string(), fmt::format("cannot be put in place: {}", std::strerror(errno)));
  sync_folder(folder.parent_path());
}

}  // namespace headtorch::store
