#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/core/error.hpp"
#include "src/tasks/symbol_task.hpp"

// Balanced brackets of several kinds. Whether the next bracket opens or closes is chance; when it closes, its
// kind follows from the brackets before it, and only there a label counts: that of the innermost bracket
// still open. Ebrahimi et al. 2020, "How can self-attention networks recognize Dyck-n languages?",
// arXiv:2010.04303; Hewitt et al. 2020, arXiv:2010.07515.

namespace headtorch::tasks {
namespace {

const std::vector<std::string> kBrackets = {"(", ")", "[", "]", "{", "}", "<", ">"};

bool opens(std::int64_t token) { return token % 2 == 0; }

/// Continues tokens[place ..] from the brackets still open in all ways.
void for_each_end(std::span<std::int64_t> tokens, std::size_t place, std::vector<std::int64_t>& open,
                  std::int64_t n_symbols, const SymbolRule::Visit& visit) {
  if (place == tokens.size()) {
    visit(tokens);
    return;
  }
  if (open.size() < tokens.size() - place) {
    for (std::int64_t token = 0; token < n_symbols; token += 2) {
      tokens[place] = token;
      open.push_back(token);
      for_each_end(tokens, place + 1, open, n_symbols, visit);
      open.pop_back();
    }
  }
  if (!open.empty()) {
    const std::int64_t last = open.back();
    tokens[place] = last + 1;
    open.pop_back();
    for_each_end(tokens, place + 1, open, n_symbols, visit);
    open.push_back(last);
  }
}

}  // namespace

SymbolRule dyck_rule(const TaskOptions& options) {
  const std::int64_t n_symbols =
      size_in_range("n_symbols", options.n_symbols, 4, 2, static_cast<std::int64_t>(kBrackets.size()));
  const std::int64_t length = size_in_range("seq_len", options.seq_len, 32, 2, kMaxSeqLen);
  if (n_symbols % 2 != 0)
    throw ConfigError("task",
                      fmt::format("n_symbols = {}: expected an even number, pairs of brackets", n_symbols));
  if (length % 2 != 0) {
    throw ConfigError(
        "task", fmt::format("seq_len = {}: expected an even number, as every bracket is closed", length));
  }
  SymbolRule rule;
  rule.shape = {"dyck", Reading::kLeftToRight, n_symbols, n_symbols, length};
  rule.words.assign(kBrackets.begin(), kBrackets.begin() + n_symbols);
  rule.n_possible = 1.0;
  for (std::int64_t i = 1; i <= length / 2; ++i) {  // Catalan number times the kinds of each pair
    rule.n_possible *=
        static_cast<double>(n_symbols / 2) * static_cast<double>(4 * i - 2) / static_cast<double>(i + 1);
  }
  // The chance to open that makes every balanced sequence equally likely (Arnold and Sleep 1980, "Uniform
  // random generation of balanced parenthesis strings").
  rule.draw = [n_symbols](Random& random, std::span<std::int64_t> tokens) {
    std::vector<std::int64_t> open;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto rest = static_cast<std::int64_t>(tokens.size() - i);
      const auto depth = static_cast<std::int64_t>(open.size());
      if (random.below(2 * rest * (depth + 1)) < (depth + 2) * (rest - depth)) {
        tokens[i] = 2 * random.below(n_symbols / 2);
        open.push_back(tokens[i]);
      } else {
        tokens[i] = open.back() + 1;
        open.pop_back();
      }
    }
  };
  rule.label = [](std::span<const std::int64_t> tokens, std::span<std::int64_t> labels) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      labels[i] = opens(tokens[i + 1]) ? kNotCounted : tokens[i + 1];
    labels.back() = kNotCounted;
  };
  rule.for_each_input = [n_symbols, length](const SymbolRule::Visit& visit) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(length)), open;
    for_each_end(tokens, 0, open, n_symbols, visit);
  };
  return rule;
}

}  // namespace headtorch::tasks
