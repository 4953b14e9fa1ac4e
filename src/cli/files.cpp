#include "src/cli/files.hpp"

#include "src/core/file.hpp"

namespace headtorch::cli {

void Files::write(const std::filesystem::path& name, const std::string& bytes) {
  make_folder(folder_);
  write_file(folder_ / name, bytes);
  paths_.push_back((folder_ / name).string());
}

}  // namespace headtorch::cli
