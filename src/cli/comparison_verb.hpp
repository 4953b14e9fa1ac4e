#pragma once

#include <string>

#include "src/cli/verbs.hpp"
#include "train/comparison.hpp"

namespace headtorch::cli {

/// What sets `compare` and `baseline` apart.
struct ComparisonVerb {
  std::string name, description, footer;
  train::Rows rows;
};
void add_comparison_verb(CLI::App& program, Action& action, const ComparisonVerb& verb);

}  // namespace headtorch::cli
