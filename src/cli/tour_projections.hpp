#pragma once

#include <string>
#include <vector>

#include "src/cli/demo_numbers.hpp"
#include "src/report/panels.hpp"

namespace headtorch::cli {

/// Queries and keys linear in x, those that also see x^2, and the Gaussian kernel, each fitted by gradients
/// on the leave-one-out error of the noisy sine.
struct Projections {
  std::vector<std::string> numbers;  ///< the three errors, the Gaussian's h
  report::Panels picture;
};
Projections learn_projections(const DemoNumbers& numbers);

}  // namespace headtorch::cli
