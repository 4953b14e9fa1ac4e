#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace headtorch::cli {

/// Writes files into one folder and remembers their paths.
class Files {
 public:
  /// Makes the folder, so that work begins only where its files can be kept.  @throws CannotCreate.
  explicit Files(std::filesystem::path folder);
  void write(const std::filesystem::path& name, const std::string& bytes);

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> paths_;
};

}  // namespace headtorch::cli
