#pragma once

#include <functional>
#include <vector>

#include "src/regress/criteria.hpp"

namespace headtorch::regress {

/// Internal to this layer: the least score over one bandwidth a column, from several starts.
struct ProductSearch {
  std::function<Score(std::span<const double>, Slopes)> score;
  Slopes slopes = Slopes::kAll;   ///< kNone: the score is no smooth function of the bandwidths
  std::vector<double> low, high;  ///< bounds, by column
  std::vector<double> far;        ///< beyond it a column hardly counts: its bandwidth is tried at `high`
  std::vector<std::vector<double>> starts;
};

/// Minima in ln h, the best first. By L-BFGS with exact slopes (Nocedal 1980) or without slopes by BOBYQA
/// (Powell 2009), both of NLopt: a short run from each start, then the best few to the end.
std::vector<Minimum> search_product(const ProductSearch& search);

}  // namespace headtorch::regress
