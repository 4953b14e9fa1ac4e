#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "src/tasks/symbol_task.hpp"

// Tasks whose input is any sequence, with a label at each position: what a fixed kernel can do on them is
// known (design/training.md), which makes them the measure for learned heads.

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kCopyShift = 3;
constexpr std::int64_t kHistogramClasses = 10;

SymbolRule any_sequence(std::string name, const TaskOptions& options, std::int64_t shortest) {
  SymbolRule rule;
  const std::int64_t n = size_in_range("n_symbols", options.n_symbols, 10, 2, kMaxSymbols);
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 16, shortest, kMaxSeqLen);
  rule.shape = {std::move(name), Reading::kWholeSequence, n, n, length};
  rule.n_possible = std::pow(static_cast<double>(n), static_cast<double>(length));
  rule.draw = [n](Random& random, std::span<std::int64_t> tokens) {
    for (std::int64_t& token : tokens) token = random.below(n);
  };
  rule.for_each_input = [n, length](const SymbolRule::Visit& visit) { for_each_sequence(n, length, visit); };
  return rule;
}

}  // namespace

SymbolRule reverse_rule(const TaskOptions& options) {
  SymbolRule rule = any_sequence("reverse", options, 1);
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::reverse_copy(tokens.begin(), tokens.end(), labels.begin());
  };
  return rule;
}

SymbolRule copy_rule(const TaskOptions& options) {
  // Written behind its source a copy needs no shift to be more than looking at itself.
  if (options.reading == Reading::kSourceToTarget) {
    SymbolRule rule = any_sequence("copy", options, 1);
    rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
      std::copy(tokens.begin(), tokens.end(), labels.begin());
    };
    return rule;
  }
  SymbolRule rule = any_sequence("copy", options, kCopyShift + 1);
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::fill_n(labels.begin(), kCopyShift, kNotCounted);
    std::copy(tokens.begin(), tokens.end() - kCopyShift, labels.begin() + kCopyShift);
  };
  return rule;
}

SymbolRule sort_rule(const TaskOptions& options) {
  SymbolRule rule = any_sequence("sort", options, 1);
  rule.n_test = 5000;
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::copy(tokens.begin(), tokens.end(), labels.begin());
    std::sort(labels.begin(), labels.end());
  };
  return rule;
}

SymbolRule histogram_rule(const TaskOptions& options) {
  SymbolRule rule = any_sequence("histogram", options, 1);
  rule.shape.n_classes = std::min(kHistogramClasses, rule.shape.seq_len);
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::vector<std::int64_t> sorted(tokens.begin(), tokens.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), tokens[i]);
      labels[i] = std::min<std::int64_t>(last - first, kHistogramClasses) - 1;
    }
  };
  return rule;
}

}  // namespace headtorch::tasks
