#include "src/cli/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "src/core/error.hpp"
#include "src/core/file.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;

Files::Files(fs::path folder) : folder_(std::move(folder)) {
  std::error_code unknown;
  for (fs::path path = folder_; !path.empty() && !fs::exists(path, unknown); path = path.parent_path())
    made_.push_back(path);
  make_folder(folder_);
  if (::access(folder_.c_str(), W_OK) != 0) {
    throw CannotCreate(folder_.string(), std::string("cannot be written into: ") + std::strerror(errno));
  }
}

Files::~Files() {
  std::error_code not_empty;
  for (const fs::path& path : made_) fs::remove(path, not_empty);
}

void Files::write(const fs::path& name, const std::string& bytes) {
  write_file(folder_ / name, bytes);
  paths_.push_back((folder_ / name).string());
}

}  // namespace headtorch::cli
