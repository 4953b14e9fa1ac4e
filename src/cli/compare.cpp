#include <fmt/format.h>

#include "src/cli/comparison_verb.hpp"
#include "src/cli/output.hpp"

namespace headtorch::cli {

void add_compare(CLI::App& program, Action& action) {
  add_comparison_verb(
      program, action,
      {"compare",
       "Fixed kernel, one head, several heads: same data and budget, and a verdict; TASK may be a run",
       fmt::format("Examples:\n  {0} compare induction\n  {0} compare sort --seeds 3 --json\n"
                   "  {0} compare text --file book.txt\n  {0} compare runs/reverse-001",
                   command_name()),
       train::Rows::kAll});
}

}  // namespace headtorch::cli
