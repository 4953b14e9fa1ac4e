#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headtorch {

/// The known name that `name` most likely meant: the fewest letters to insert, drop or change (Levenshtein
/// 1966), at most half of it, or the one that ends in it ("heads", "n_heads"). Empty when none is near; the
/// first of equals.
std::string nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace headtorch
