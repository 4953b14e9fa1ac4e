#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/probe/verdict.hpp"

namespace headtorch::probe {

/// A comparison with so many training rows.
struct SizePoint {
  std::int64_t n = 0;
  std::vector<ComparisonRow> rows;
  Verdict verdict;
};

/// From how many rows learning overtakes the fixed kernel: the least n from which on, at every size tried,
/// the best learned model has a clear lead over the best fixed kernel (best by its mean at that size; clear
/// as in decide()). "Not up to 800 rows" where there is none; then also the size from which on the learned
/// mean is the better one, if there is one.
/// @param points ascending in n, one at least.  @throws ConfigError as decide().
std::string overtaking(const std::vector<SizePoint>& points, const ComparisonMetric& metric);

}  // namespace headtorch::probe
