#include "src/tasks/symbol_task.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "src/core/error.hpp"
#include "src/tasks/split.hpp"

namespace headtorch::tasks {
namespace {

constexpr double kSmallSpace = 1e6;  // spaces below this size are counted exactly
constexpr int kMaxDraws = 100000;    // a tenth of the draws fit; in a small space, a few in a thousand
constexpr std::uint64_t kStream = 0x7461'0000;  // keeps these draws apart from other uses of the seed

}  // namespace

SymbolTask::SymbolTask(SymbolRule rule, std::uint64_t seed)
    : rule_(std::move(rule)),
      seed_(seed),
      vocabulary_(rule_.shape.n_symbols - static_cast<std::int64_t>(rule_.words.size()), rule_.words) {
  if (rule_.n_possible >= kSmallSpace) return;
  const TaskShape& s = rule_.shape;
  if (!rule_.for_each_input) {
    throw ConfigError("task",
                      fmt::format("{} with n_symbols = {} and seq_len = {} has only {} different inputs: "
                                  "expected larger sizes, with {} or more",
                                  s.name, s.n_symbols, s.seq_len, rule_.n_possible, kSmallSpace));
  }
  std::array<std::int64_t, 3> counts{};
  rule_.for_each_input([&](std::span<const std::int64_t> tokens) {
    ++counts[static_cast<std::size_t>(split_of(tokens, rule_.tenths))];
  });
  const auto count = [&](Split split) { return counts[static_cast<std::size_t>(split)]; };
  const std::int64_t all = count(Split::kTrain) + count(Split::kValidation) + count(Split::kTest);
  if (count(Split::kTrain) == 0 || count(Split::kValidation) == 0 || count(Split::kTest) == 0) {
    throw ConfigError(
        "task", fmt::format("{} with n_symbols = {} and seq_len = {} has only {} different inputs, too few "
                            "for a training, a validation and a test part: expected a larger size",
                            s.name, s.n_symbols, s.seq_len, all));
  }
  if (count(Split::kTest) >= rule_.n_test) return;
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
    if (split_of(tokens, rule_.tenths) == split) return;
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

std::vector<std::int64_t> SymbolTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, rule_.shape.name);
}

std::vector<double> SymbolTask::best_losses(const Batch& batch) const {
  return rule_.best_losses ? rule_.best_losses(batch) : std::vector<double>{};
}

}  // namespace headtorch::tasks
