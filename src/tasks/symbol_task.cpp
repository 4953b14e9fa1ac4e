#include "src/tasks/symbol_task.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "src/core/error.hpp"
#include "src/tasks/split.hpp"

namespace headtorch::tasks {
namespace {

constexpr double kSmallSpace = 1e6;  // spaces up to this size are counted exactly
constexpr int kMaxDraws = 100000;    // a tenth of the draws fit; in a small space, a few in a thousand
constexpr std::uint64_t kStream = 0x7461'0000;  // keeps these draws apart from other uses of the seed

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::int64_t size_in_range(std::string_view name, std::int64_t value, std::int64_t fallback, std::int64_t low,
                           std::int64_t high) {
  if (value == 0) return fallback;
  if (value < low || value > high) {
    throw ConfigError("task", fmt::format("{} = {}: expected {} to {}", name, value, low, high));
  }
  return value;
}

void check_examples(const Task& task, Split split, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || first > task.size(split) - count) {
    throw Error(ExitCode::kInternal, "tasks",
                fmt::format("asked for {} examples from number {} of a split with {}", count, first,
                            task.size(split)));
  }
}

SymbolTask::SymbolTask(SymbolRule rule, std::uint64_t seed) : rule_(std::move(rule)), seed_(seed) {
  if (rule_.n_possible > kSmallSpace) return;
  std::array<std::int64_t, 3> counts{};
  rule_.for_each_input(
      [&](std::span<const std::int64_t> tokens) { ++counts[static_cast<std::size_t>(split_of(tokens))]; });
  const auto count = [&](Split split) { return counts[static_cast<std::size_t>(split)]; };
  const std::int64_t all = count(Split::kTrain) + count(Split::kValidation) + count(Split::kTest);
  const TaskShape& s = rule_.shape;
  if (count(Split::kTrain) == 0 || count(Split::kValidation) == 0 || count(Split::kTest) == 0) {
    throw ConfigError(
        "task", fmt::format("{} with n_symbols = {} and seq_len = {} has only {} different inputs, too few "
                            "for a training, a validation and a test part: expected a larger size",
                            s.name, s.n_symbols, s.seq_len, all));
  }
  overlap_note_ = fmt::format(
      "Only {} different inputs of {} symbols and length {} exist: {} of them are kept for the test, whose "
      "{} examples "
      "repeat them; no test input is used in training.",
      all, s.n_symbols, s.seq_len, count(Split::kTest), rule_.n_test);
}

std::int64_t SymbolTask::size(Split split) const {
  switch (split) {
    case Split::kTrain:
      return std::numeric_limits<std::int64_t>::max();
    case Split::kValidation:
      return 1000;
    case Split::kTest:
      return rule_.n_test;
  }
  return 0;
}

void SymbolTask::draw_example(Split split, std::int64_t index, std::span<std::int64_t> tokens) const {
  Random random(seed_, static_cast<std::uint64_t>(index), kStream + static_cast<std::uint64_t>(split));
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    rule_.draw(random, tokens);
    if (split_of(tokens) == split) return;
  }
  throw ConfigError(
      "task", fmt::format("{} with n_symbols = {} and seq_len = {} gave no new input in {} draws: expected a "
                          "larger size",
                          rule_.shape.name, rule_.shape.n_symbols, rule_.shape.seq_len, kMaxDraws));
}

Batch SymbolTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  const auto length = static_cast<std::size_t>(rule_.shape.seq_len);
  Batch batch;
  batch.examples = count;
  batch.length = rule_.shape.seq_len;
  batch.tokens.resize(static_cast<std::size_t>(count) * length);
  batch.labels.resize(batch.tokens.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * length;
    const auto tokens = std::span(batch.tokens).subspan(at, length);
    draw_example(split, first + i, tokens);
    rule_.label(tokens, std::span(batch.labels).subspan(at, length));
  }
  return batch;
}

std::string SymbolTask::token_text(std::int64_t token) const { return std::to_string(token); }

std::vector<std::int64_t> SymbolTask::parse_tokens(std::string_view input) const {
  const std::string known =
      fmt::format("expected numbers from 0 to {}, separated by spaces", rule_.shape.n_symbols - 1);
  std::vector<std::int64_t> tokens;
  for (std::size_t begin = 0; begin < input.size();) {
    if (is_space(input[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < input.size() && !is_space(input[end])) ++end;
    const std::string_view word = input.substr(begin, end - begin);
    std::int64_t token = 0;
    const auto [stop, status] = std::from_chars(word.data(), word.data() + word.size(), token);
    if (status != std::errc{} || stop != word.data() + word.size() || token < 0 ||
        token >= rule_.shape.n_symbols) {
      throw DataError("input",
                      fmt::format("\"{}\" is not a symbol of {}: {}", word, rule_.shape.name, known));
    }
    tokens.push_back(token);
    begin = end;
  }
  if (tokens.empty()) throw DataError("input", fmt::format("is empty: {}", known));
  return tokens;
}

}  // namespace headtorch::tasks
