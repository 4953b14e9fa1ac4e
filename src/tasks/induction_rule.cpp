#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/draws.hpp"
#include "src/tasks/symbol_task.hpp"

// Induction: distinct tokens, repeated with a period that changes from sequence to sequence, so that no fixed
// distance finds the answer; the next token is known as soon as one token has come back. After Olsson et al.
// 2022, "In-context learning and induction heads", arXiv:2209.11895.

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kShortestPeriod = 6, kLongestPeriod = 16;

void repeat(std::span<std::int64_t> tokens, std::int64_t period) {
  for (auto i = static_cast<std::size_t>(period); i < tokens.size(); ++i) {
    tokens[i] = tokens[i - static_cast<std::size_t>(period)];
  }
}

/// Calls `visit` for every way to fill tokens[place .. period-1] with symbols not yet used.
void for_each_start(std::span<std::int64_t> tokens, std::size_t place, std::size_t period,
                    std::int64_t n_symbols, const SymbolRule::Visit& visit) {
  if (place == period) {
    repeat(tokens, static_cast<std::int64_t>(period));
    visit(tokens);
    return;
  }
  const auto used = tokens.first(place);
  for (std::int64_t symbol = 0; symbol < n_symbols; ++symbol) {
    if (std::find(used.begin(), used.end(), symbol) != used.end()) continue;
    tokens[place] = symbol;
    for_each_start(tokens, place + 1, period, n_symbols, visit);
  }
}

}  // namespace

SymbolRule induction_rule(const TaskOptions& options) {
  const std::int64_t n = size_in_range("n_symbols", options.n_symbols, 32, kShortestPeriod, kMaxSymbols);
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 32, 2 * kShortestPeriod, kMaxSeqLen);
  const std::int64_t longest = std::min({kLongestPeriod, n, length / 2});

  SymbolRule rule;
  rule.shape = {"induction", Reading::kLeftToRight, n, n, length};
  rule.n_free_running = 1000;
  for (std::int64_t period = kShortestPeriod; period <= longest; ++period) {
    double ways = 1.0;
    for (std::int64_t i = 0; i < period; ++i) ways *= static_cast<double>(n - i);
    rule.n_possible += ways;
  }
  rule.draw = [n, longest](Random& random, std::span<std::int64_t> tokens) {
    const std::int64_t period = kShortestPeriod + random.below(longest - kShortestPeriod + 1);
    draw_distinct(random, {0, n}, tokens.first(static_cast<std::size_t>(period)));
    repeat(tokens, period);
  };
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    const auto period =
        static_cast<std::size_t>(std::find(tokens.begin() + 1, tokens.end(), tokens[0]) - tokens.begin());
    for (std::size_t i = 0; i < tokens.size(); ++i)
      labels[i] = i < period ? kNotCounted : tokens[i + 1 - period];
  };
  rule.for_each_input = [n, longest, length](const SymbolRule::Visit& visit) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(length));
    for (std::int64_t period = kShortestPeriod; period <= longest; ++period) {
      for_each_start(tokens, 0, static_cast<std::size_t>(period), n, visit);
    }
  };
  return rule;
}

}  // namespace headtorch::tasks
