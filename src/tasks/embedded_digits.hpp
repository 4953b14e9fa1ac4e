#pragma once

#include <string_view>

namespace headtorch::tasks {

/// The text of data/digits.csv, compiled in by cmake/Digits.cmake.
std::string_view embedded_digits();

}  // namespace headtorch::tasks
