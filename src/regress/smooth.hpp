#pragma once

#include <vector>

#include "src/regress/local_sums.hpp"

namespace headtorch::regress {

/// Internal to this layer: f at each place of the request, y as in Sample::y(), from sums over blocks where
/// they keep their digits and from the neighbours themselves elsewhere. `request.moments` is not read.
std::vector<double> smooth(const SumsRequest& request, const Smoother& smoother);

}  // namespace headtorch::regress
