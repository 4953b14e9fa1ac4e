#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace headtorch::cli {

/// Writes files into one folder, made with the first, and remembers their paths.
class Files {
 public:
  explicit Files(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void write(const std::filesystem::path& name, const std::string& bytes);

  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> paths_;
};

}  // namespace headtorch::cli
