#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace headtorch {

/// In an expected shape: any size will do.
inline constexpr std::int64_t kAnySize = -1;

/// Checks a tensor's sizes where it enters a function or module.
/// @throws ShapeError `[where] NAME has shape [..], expected [..]` when rank or a fixed size differs.
void check_shape(std::string_view where, std::string_view name, std::span<const std::int64_t> sizes,
                 std::initializer_list<std::int64_t> expected);

}  // namespace headtorch
