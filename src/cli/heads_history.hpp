#pragma once

#include <string>
#include <vector>

#include "src/report/figures.hpp"
#include "train/head_study.hpp"

namespace headtorch::cli {

/// What each head was at the steps it was looked at, below the loss of the training: entropy, the scores of
/// the known patterns, what the nearest kernel explains, and its bandwidth where it is a Gaussian.
/// @param loss one value a step, from step 1.
report::History heads_history(const std::string& task, const std::vector<double>& loss,
                              const std::vector<train::HeadStudy>& studies);

}  // namespace headtorch::cli
