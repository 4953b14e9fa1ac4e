#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/symbol_task.hpp"

// Selective copying: a few data symbols at random places among blanks, then as many marks, at which the data
// are wanted in the order in which they came. The gaps are random, so no fixed distance finds them. Gu and
// Dao 2023, "Mamba", 4.1.1, arXiv:2312.00752, after Jing et al. 2019, "Gated orthogonal recurrent units",
// arXiv:1706.02761.

namespace headtorch::tasks {

SymbolRule select_rule(const TaskOptions& options) {
  const std::int64_t n_symbols = size_in_range("n_symbols", options.n_symbols, 10, 4, kMaxSymbols);
  const std::int64_t blank = n_symbols - 2, mark = n_symbols - 1;
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 64, 2, kMaxSeqLen);
  const std::int64_t n = options.n_pairs == 0 ? std::min<std::int64_t>(8, length / 2) : options.n_pairs;
  if (n < 1 || n > length / 2) {
    throw ConfigError(
        "task", fmt::format("n_pairs = {}: expected 1 to {}, half of seq_len = {}", n, length / 2, length));
  }
  const std::int64_t n_context = length - n;

  SymbolRule rule;
  rule.shape = {"select", Reading::kLeftToRight, n_symbols, n_symbols, length};
  rule.words = {".", "?"};
  rule.n_possible = std::pow(static_cast<double>(blank), static_cast<double>(n));
  for (std::int64_t i = 0; i < n; ++i)
    rule.n_possible *= static_cast<double>(n_context - i) / static_cast<double>(i + 1);
  rule.draw = [=](Random& random, std::span<std::int64_t> tokens) {
    const auto context = tokens.first(static_cast<std::size_t>(n_context));
    std::int64_t left = n;
    for (std::size_t i = 0; i < context.size(); ++i) {
      const bool chosen = random.below(static_cast<std::int64_t>(context.size() - i)) < left;
      context[i] = chosen ? random.below(blank) : blank;
      left -= chosen ? 1 : 0;
    }
    std::fill(tokens.begin() + n_context, tokens.end(), mark);
  };
  rule.label = [=](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::fill_n(labels.begin(), n_context, kNotCounted);
    std::copy_if(tokens.begin(), tokens.begin() + n_context, labels.begin() + n_context,
                 [=](std::int64_t token) { return token < blank; });
  };
  return rule;
}

}  // namespace headtorch::tasks
