#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/draws.hpp"
#include "src/tasks/symbol_task.hpp"

// Associative recall: pairs of a key and its value, then keys again, each to be answered with its value. Keys
// are the lower half of the symbols, values the upper.
// recall: queries follow the pairs at once (Ba et al. 2016, "Using fast weights to attend to the recent
// past",
//   arXiv:1610.06258; sizes of Fu et al. 2023, "Hungry hungry hippos", arXiv:2212.14052).
// mqar: every key is asked for once, among tokens that mean nothing; how long after its pair falls off as a
//   power (Arora et al. 2023, "Zoology", arXiv:2312.04927).

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kQueries = 6;  // of recall, unless seq_len says otherwise

struct Pairs {
  std::int64_t n = 0;          ///< key-value pairs
  std::int64_t n_keys = 0;     ///< keys are 0 .. n_keys-1
  std::int64_t n_symbols = 0;  ///< values are n_keys .. n_symbols-1
};

Pairs pairs_of(const TaskOptions& options, std::int64_t n_pairs, std::int64_t n_symbols) {
  Pairs pairs;
  pairs.n_symbols = size_in_range("n_symbols", options.n_symbols, n_symbols, 4, kMaxSymbols);
  if (pairs.n_symbols % 2 != 0) {
    throw ConfigError(
        "task", fmt::format("n_symbols = {}: expected an even number, half of them keys", pairs.n_symbols));
  }
  pairs.n_keys = pairs.n_symbols / 2;
  pairs.n = options.n_pairs == 0 ? n_pairs : options.n_pairs;
  const std::int64_t most = std::min(pairs.n_keys, kMaxSeqLen / 4);
  if (pairs.n < 1 || pairs.n > most) {
    throw ConfigError("task", fmt::format("n_pairs = {} with n_symbols = {}: expected 1 to {}", pairs.n,
                                          pairs.n_symbols, most));
  }
  return pairs;
}

std::int64_t length_for(const Pairs& pairs, std::int64_t seq_len, std::int64_t fallback,
                        std::int64_t shortest) {
  const std::int64_t length = seq_len == 0 ? fallback : seq_len;
  if (length < shortest || length > kMaxSeqLen) {
    throw ConfigError("task", fmt::format("seq_len = {} with n_pairs = {}: expected {} to {}", length,
                                          pairs.n, shortest, kMaxSeqLen));
  }
  return length;
}

/// Draws the pairs into the first 2n tokens.  @returns the keys.
std::vector<std::int64_t> draw_pairs(Random& random, const Pairs& pairs, std::span<std::int64_t> tokens) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(pairs.n));
  draw_distinct(random, {0, pairs.n_keys}, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    tokens[2 * i] = keys[i];
    tokens[2 * i + 1] = pairs.n_keys + random.below(pairs.n_symbols - pairs.n_keys);
  }
  return keys;
}

/// A label where a token behind the pairs is one of their keys.
void label_queries(const Pairs& pairs, std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
  const auto n_context = static_cast<std::size_t>(2 * pairs.n);
  std::vector<std::int64_t> value_of(static_cast<std::size_t>(pairs.n_keys), kNotCounted);
  for (std::size_t i = 0; i < n_context; i += 2)
    value_of[static_cast<std::size_t>(tokens[i])] = tokens[i + 1];
  std::fill(labels.begin(), labels.end(), kNotCounted);
  for (std::size_t i = n_context; i < tokens.size(); ++i) {
    if (tokens[i] < pairs.n_keys) labels[i] = value_of[static_cast<std::size_t>(tokens[i])];
  }
}

double count_pairs(const Pairs& pairs) {
  double ways = std::pow(static_cast<double>(pairs.n_symbols - pairs.n_keys), static_cast<double>(pairs.n));
  for (std::int64_t i = 0; i < pairs.n; ++i) ways *= static_cast<double>(pairs.n_keys - i);
  return ways;
}

/// `count` different numbers below n, s of them with a chance in proportion to 1/(s+1).
std::vector<std::int64_t> draw_slots(Random& random, std::int64_t n, std::int64_t count) {
  std::vector<double> weights;
  double total = 0.0;
  for (std::int64_t slot = 0; slot < n; ++slot)
    total += weights.emplace_back(1.0 / static_cast<double>(slot + 1));
  std::vector<std::int64_t> slots;
  while (static_cast<std::int64_t>(slots.size()) < count) {
    double rest = random.uniform() * total;
    std::int64_t chosen = -1;
    for (std::int64_t slot = 0; slot < n && (chosen < 0 || rest >= 0.0); ++slot) {
      const double weight = weights[static_cast<std::size_t>(slot)];
      if (weight == 0.0) continue;
      chosen = slot;
      rest -= weight;
    }
    slots.push_back(chosen);
    total -= weights[static_cast<std::size_t>(chosen)];
    weights[static_cast<std::size_t>(chosen)] = 0.0;
  }
  return slots;
}

SymbolRule rule_of(const Pairs& pairs, std::string name, std::int64_t length) {
  SymbolRule rule;
  rule.shape = {std::move(name), Reading::kLeftToRight, pairs.n_symbols, pairs.n_symbols, length};
  rule.label = [pairs](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    label_queries(pairs, tokens, labels);
  };
  return rule;
}

}  // namespace

SymbolRule recall_rule(const TaskOptions& options) {
  const Pairs pairs = pairs_of(options, 5, 20);
  const std::int64_t length = length_for(pairs, options.seq_len, 2 * pairs.n + kQueries, 2 * pairs.n + 1);
  SymbolRule rule = rule_of(pairs, "recall", length);
  rule.n_possible =
      count_pairs(pairs) * std::pow(static_cast<double>(pairs.n), static_cast<double>(length - 2 * pairs.n));
  rule.draw = [pairs](Random& random, std::span<std::int64_t> tokens) {
    const std::vector<std::int64_t> keys = draw_pairs(random, pairs, tokens);
    for (std::int64_t& query : tokens.subspan(2 * keys.size()))
      query = keys[static_cast<std::size_t>(random.below(pairs.n))];
  };
  return rule;
}

SymbolRule mqar_rule(const TaskOptions& options) {
  const Pairs pairs = pairs_of(options, 4, 8192);
  const std::int64_t length =
      length_for(pairs, options.seq_len, std::max<std::int64_t>(64, 4 * pairs.n), 4 * pairs.n);
  const std::int64_t n_slots = (length - 2 * pairs.n) / 2;
  SymbolRule rule = rule_of(pairs, "mqar", length);
  rule.n_possible = count_pairs(pairs) * std::pow(static_cast<double>(pairs.n_symbols - pairs.n),
                                                  static_cast<double>(length - 3 * pairs.n));
  rule.draw = [pairs, n_slots](Random& random, std::span<std::int64_t> tokens) {
    const std::vector<std::int64_t> keys = draw_pairs(random, pairs, tokens);
    const auto queries = tokens.subspan(2 * keys.size());
    for (std::int64_t& filler : queries) {
      do {
        filler = random.below(pairs.n_symbols);
      } while (std::find(keys.begin(), keys.end(), filler) != keys.end());
    }
    const std::vector<std::int64_t> slots = draw_slots(random, n_slots, pairs.n);
    for (std::size_t i = 0; i < keys.size(); ++i) queries[static_cast<std::size_t>(2 * slots[i])] = keys[i];
  };
  return rule;
}

}  // namespace headtorch::tasks
