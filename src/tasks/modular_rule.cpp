#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/symbol_task.hpp"

// Arithmetic modulo p, written a, sign, b, "=": the answer is read at the last token. Half of all pairs are
// for training. Power et al. 2022, "Grokking: generalization beyond overfitting on small algorithmic
// datasets", arXiv:2201.02177.

namespace headtorch::tasks {
namespace {

constexpr std::array<const char*, 4> kSigns = {"+", "-", "*", "/"};
constexpr std::int64_t kSmallestModulus = 7, kLargestModulus = 9973;

bool is_prime(std::int64_t n) {
  for (std::int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return false;
  }
  return n > 1;
}

/// b^(p-2), which is 1/b modulo a prime p (Fermat).
std::int64_t inverse(std::int64_t b, std::int64_t p) {
  std::int64_t power = 1;
  for (std::int64_t exponent = p - 2; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power = power * b % p;
    b = b * b % p;
  }
  return power;
}

std::int64_t result(std::int64_t a, std::int64_t b, Operation operation, std::int64_t p) {
  switch (operation) {
    case Operation::kAdd:
      return (a + b) % p;
    case Operation::kSubtract:
      return (a - b + p) % p;
    case Operation::kMultiply:
      return a * b % p;
    case Operation::kDivide:
      return a * inverse(b, p) % p;
  }
  return 0;
}

}  // namespace

SymbolRule modular_rule(const TaskOptions& options) {
  check_fixed_size("seq_len", options.seq_len, 4);
  const std::int64_t p = size_in_range("n_symbols", options.n_symbols, 97, kSmallestModulus, kLargestModulus);
  const Operation operation = options.operation;
  if (operation == Operation::kDivide && !is_prime(p)) {
    throw ConfigError("task", fmt::format("n_symbols = {}: expected a prime number, without which not every "
                                          "division has one answer",
                                          p));
  }
  const std::int64_t first_b = operation == Operation::kDivide ? 1 : 0, sign = p, equals = p + 1;

  SymbolRule rule;
  rule.shape = {"modular", Reading::kLeftToRight, p + 2, p, 4};
  rule.words = {kSigns[static_cast<std::size_t>(operation)], "="};
  rule.tenths = {4, 1};
  rule.n_possible = static_cast<double>(p) * static_cast<double>(p - first_b);
  rule.draw = [=](Random& random, std::span<std::int64_t> tokens) {
    tokens[0] = random.below(p);
    tokens[1] = sign;
    tokens[2] = first_b + random.below(p - first_b);
    tokens[3] = equals;
  };
  rule.label = [=](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    std::fill(labels.begin(), labels.end(), kNotCounted);
    labels.back() = result(tokens[0], tokens[2], operation, p);
  };
  rule.for_each_input = [=](const SymbolRule::Visit& visit) {
    for (std::int64_t a = 0; a < p; ++a) {
      for (std::int64_t b = first_b; b < p; ++b) visit(std::array{a, sign, b, equals});
    }
  };
  return rule;
}

}  // namespace headtorch::tasks
