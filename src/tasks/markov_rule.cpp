#include <algorithm>
#include <cmath>
#include <vector>

#include "src/tasks/symbol_task.hpp"

// Markov chains in context: every sequence has transition probabilities of its own, each row uniform on the
// simplex (Dirichlet with all parameters 1), and starts at a uniform symbol. The best predictor counts how
// often each symbol followed this one so far, plus one: the bigram statistics. Edelman et al. 2024, "The
// evolution of statistical induction heads", arXiv:2402.11004.

namespace headtorch::tasks {
namespace {

/// A row of probabilities as the places that cut [0, 1) into them: the gaps of sorted uniform numbers.
using Cuts = std::vector<double>;

Cuts draw_row(Random& random, std::int64_t n) {
  Cuts cuts(static_cast<std::size_t>(n - 1));
  for (double& cut : cuts) cut = random.uniform();
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<double> posterior_losses(const Batch& batch, std::int64_t n) {
  const auto length = static_cast<std::size_t>(batch.length), states = static_cast<std::size_t>(n);
  std::vector<double> losses(batch.labels.size(), 0.0);
  for (std::size_t begin = 0; begin < losses.size(); begin += length) {
    std::vector<double> followed(states * states, 1.0), row_sums(states, static_cast<double>(n));
    for (std::size_t i = begin; i < begin + length; ++i) {
      if (batch.labels[i] == kNotCounted) continue;
      const auto from = static_cast<std::size_t>(batch.tokens[i]);
      double& count = followed[from * states + static_cast<std::size_t>(batch.labels[i])];
      losses[i] = std::log(row_sums[from] / count);
      count += 1.0;
      row_sums[from] += 1.0;
    }
  }
  return losses;
}

}  // namespace

SymbolRule markov_rule(const TaskOptions& options) {
  const std::int64_t n = size_in_range("n_symbols", options.n_symbols, 3, 2, 100);
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 100, 2, kMaxSeqLen);
  SymbolRule rule;
  rule.shape = {"markov", Reading::kLeftToRight, n, n, length};
  rule.n_possible = std::pow(static_cast<double>(n), static_cast<double>(length));
  rule.draw = [n](Random& random, std::span<std::int64_t> tokens) {
    std::vector<Cuts> rows;
    for (std::int64_t state = 0; state < n; ++state) rows.push_back(draw_row(random, n));
    tokens[0] = random.below(n);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const Cuts& row = rows[static_cast<std::size_t>(tokens[i - 1])];
      tokens[i] = std::upper_bound(row.begin(), row.end(), random.uniform()) - row.begin();
    }
  };
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::copy(tokens.begin() + 1, tokens.end(), labels.begin());
    labels.back() = kNotCounted;
  };
  rule.for_each_input = [n, length](const SymbolRule::Visit& visit) { for_each_sequence(n, length, visit); };
  rule.best_losses = [n](const Batch& batch) { return posterior_losses(batch, n); };
  return rule;
}

}  // namespace headtorch::tasks
