#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "src/store/run_folder.hpp"

namespace headtorch::cli {

/// A new folder for what one command writes. It is made at once, so that a bad place is refused before the
/// work, and goes away again, with a runs/ made for it, when the work fails.
class NewFolder {
 public:
  /// @param out empty: runs/NAME-NNN.  @throws CannotCreate.
  NewFolder(std::string_view name, const std::string& out);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void write(const std::string& name, std::string_view bytes);

  const std::filesystem::path& path() const { return folder_.path(); }
  const std::vector<std::string>& names() const { return names_; }  ///< of what was written

 private:
  bool makes_runs_;
  store::RunFolder folder_;
  std::vector<std::string> names_;
};

}  // namespace headtorch::cli
