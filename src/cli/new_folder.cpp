#include "src/cli/new_folder.hpp"

#include <system_error>

namespace headtorch::cli {
namespace fs = std::filesystem;

NewFolder::NewFolder(std::string_view name, const std::string& out)
    : makes_runs_(out.empty() && !fs::exists("runs")),
      folder_(store::RunFolder::create(name, out, store::Occupied::kRefuse)) {}

NewFolder::~NewFolder() {
  std::error_code not_empty;
  fs::remove(folder_.path(), not_empty);
  if (makes_runs_) fs::remove(folder_.path().parent_path(), not_empty);
}

void NewFolder::write(const std::string& name, std::string_view bytes) {
  folder_.write(name, bytes);
  names_.push_back(name);
}

}  // namespace headtorch::cli
