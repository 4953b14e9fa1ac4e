#pragma once

#include <cstddef>
#include <functional>

namespace headtorch::probe {

/// Calls `task` with 0 .. n-1, on up to as many threads as the machine has. Tasks must not touch each other's
/// data; the order is not fixed. The error of the lowest number is thrown again.
void for_each_index(std::size_t n, const std::function<void(std::size_t)>& task);

}  // namespace headtorch::probe
