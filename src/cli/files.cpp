#include "src/cli/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/core/error.hpp"
#include "src/core/file.hpp"

namespace headtorch::cli {

Files::Files(std::filesystem::path folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  if (::access(folder_.c_str(), W_OK) != 0) {
    throw CannotCreate(folder_.string(), std::string("cannot be written into: ") + std::strerror(errno));
  }
}

void Files::write(const std::filesystem::path& name, const std::string& bytes) {
  write_file(folder_ / name, bytes);
  paths_.push_back((folder_ / name).string());
}

}  // namespace headtorch::cli
