#pragma once

#include <string_view>

namespace headtorch::report {

/// The files of src/report/page/, compiled in by cmake/PageFiles.cmake.
struct PageFiles {
  std::string_view html, style, script;
};
PageFiles page_files();

}  // namespace headtorch::report
