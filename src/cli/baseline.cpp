#include <fmt/format.h>

#include "src/cli/comparison_verb.hpp"
#include "src/cli/output.hpp"

namespace headtorch::cli {

void add_baseline(CLI::App& program, Action& action) {
  add_comparison_verb(
      program, action,
      {"baseline", "Fixed kernels alone: is similarity enough, and at which bandwidth?",
       fmt::format("Examples:\n  {0} baseline histogram\n  {0} baseline copy --bandwidth 0.5,1,2",
                   command_name()),
       train::Rows::kFixedOnly});
}

}  // namespace headtorch::cli
