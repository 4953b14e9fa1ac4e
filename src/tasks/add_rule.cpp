#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/symbol_task.hpp"

// Addition: two numbers of n digits, then their sum of n+1 digits, one token a digit and no signs, as
// minGPT's addition example lays it out. Every answer digit but the last is also an input. With the lowest
// digit first a carry only needs what is already written (Lee et al. 2023, "Teaching arithmetic to small
// transformers", arXiv:2307.03381).

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kBase = 10;

/// The n+1 digits of the sum of the two numbers that `tokens` begins with.
std::vector<std::int64_t> sum_digits(std::span<const std::int64_t> tokens, DigitOrder order) {
  const std::size_t n = tokens.size() / 3;
  std::vector<std::int64_t> digits;
  std::int64_t carry = 0;
  for (std::size_t i = n; i-- > 0;) {
    const std::int64_t sum = tokens[i] + tokens[n + i] + carry;
    digits.push_back(sum % kBase);
    carry = sum / kBase;
  }
  digits.push_back(carry);
  if (order == DigitOrder::kPlain) std::reverse(digits.begin(), digits.end());
  return digits;
}

void write_answer(std::span<std::int64_t> tokens, DigitOrder order) {
  const std::vector<std::int64_t> digits = sum_digits(tokens, order);
  const auto n = static_cast<std::ptrdiff_t>(tokens.size() / 3);
  std::copy_n(digits.begin(), n, tokens.begin() + 2 * n);
}

}  // namespace

SymbolRule add_rule(const TaskOptions& options) {
  check_fixed_size("n_symbols", options.n_symbols, kBase);
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 9, 3, kMaxSeqLen);
  if (length % 3 != 0) {
    throw ConfigError(
        "task", fmt::format("seq_len = {}: expected 3 tokens for each digit of a number, as in {} or {}",
                            length, length / 3 * 3, length / 3 * 3 + 3));
  }
  SymbolRule rule;
  rule.shape = {"add", Reading::kLeftToRight, kBase, kBase, length};
  rule.n_free_running = 1000;
  const auto n_operand_digits = static_cast<std::size_t>(length / 3 * 2);
  rule.n_possible = std::pow(static_cast<double>(kBase), static_cast<double>(n_operand_digits));
  const DigitOrder order = options.digit_order;
  rule.draw = [n_operand_digits, order](Random& random, std::span<std::int64_t> tokens) {
    for (std::int64_t& digit : tokens.first(n_operand_digits)) digit = random.below(kBase);
    write_answer(tokens, order);
  };
  rule.label = [n_operand_digits, order](std::span<const std::int64_t> tokens,
                                         std::span<std::int64_t> labels) {
    const std::vector<std::int64_t> digits = sum_digits(tokens, order);
    const auto answer = static_cast<std::ptrdiff_t>(n_operand_digits) - 1;
    std::fill_n(labels.begin(), answer, kNotCounted);
    std::copy(digits.begin(), digits.end(), labels.begin() + answer);
  };
  rule.for_each_input = [n_operand_digits, order, length](const SymbolRule::Visit& visit) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(length));
    for_each_sequence(kBase, static_cast<std::int64_t>(n_operand_digits),
                      [&](std::span<const std::int64_t> digits) {
                        std::copy(digits.begin(), digits.end(), tokens.begin());
                        write_answer(tokens, order);
                        visit(tokens);
                      });
  };
  return rule;
}

}  // namespace headtorch::tasks
