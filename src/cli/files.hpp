#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace headtorch::cli {

/// Writes files into one folder and remembers their paths.
class Files {
 public:
  /// Makes the folder, so that work begins only where its files can be kept; one that stays empty is removed
  /// again.  @throws CannotCreate.
  explicit Files(std::filesystem::path folder);
  ~Files();
  Files(Files&&) = default;
  Files& operator=(Files&&) = delete;
  void write(const std::filesystem::path& name, const std::string& bytes);

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> made_;  // the folder and those above it, where they were not there
  std::vector<std::string> paths_;
};

}  // namespace headtorch::cli
