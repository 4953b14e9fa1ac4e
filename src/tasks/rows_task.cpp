#include "src/tasks/rows_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/tasks/sizes.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::uint64_t kStream = 0x7272'0000;  // keeps these draws apart from other uses of the seed
constexpr std::int64_t kRow = 0, kAsked = 1;
constexpr std::int64_t kMostTraining = 256, kMostKnown = 1024, kMostAsked = 256;

/// Moves `count` of the rows, each choice equally likely, to the front.
void draw_first(Random& random, std::vector<std::size_t>& rows, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    std::swap(
        rows[i],
        rows[i + static_cast<std::size_t>(random.below(std::ssize(rows) - static_cast<std::int64_t>(i)))]);
}

}  // namespace

RowsTask::RowsTask(const TaskOptions& options, Rows rows, std::uint64_t seed)
    : rows_(std::move(rows)), seed_(seed) {
  check_fixed_size("n_symbols", options.n_symbols, 2);
  const auto n_train = static_cast<std::int64_t>(rows_.train.size());
  const std::int64_t length = size_in_range("seq_len", options.seq_len, std::min(n_train, kMostTraining), 2,
                                            std::min(n_train, kMaxSeqLen));
  n_asked_ = std::max<std::int64_t>(length / 4, 1);
  known_ = choose(rows_.known, kMostKnown);
  known_validation_ = choose(rows_.train, length);
  shape_.name = options.name;
  shape_.n_symbols = 2;
  shape_.n_classes = 1;
  shape_.seq_len = length;
  shape_.n_features = static_cast<std::int64_t>(rows_.features.size()) + 1;
  shape_.n_compared = shape_.n_features - 1;
  shape_.measure = Measure::kReal;
  shape_.asked_token = kAsked;
  shape_.value_unit = rows_.y_scaling.sd;
  // Errors of a series that are n^(1/3) apart hardly know of each other (Hall, Horowitz and Jing 1995).
  shape_.error_block =
      options.name == "series" ? static_cast<std::int64_t>(std::ceil(std::cbrt(rows_.test.size()))) : 1;
}

std::vector<std::size_t> RowsTask::choose(const std::vector<std::size_t>& rows, std::int64_t most) const {
  std::vector<std::size_t> chosen = rows;
  if (std::ssize(rows) <= most) return chosen;
  Random random(seed_, 0, kStream + 16);
  draw_first(random, chosen, static_cast<std::size_t>(most));
  chosen.resize(static_cast<std::size_t>(most));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::int64_t RowsTask::size(Split split) const {
  if (split == Split::kTrain) return std::numeric_limits<std::int64_t>::max();
  return (std::ssize(rows_.of(split)) + at_once(split) - 1) / at_once(split);
}

std::int64_t RowsTask::at_once(Split split) const {
  const std::int64_t n = std::ssize(rows_.of(split));
  if (split == Split::kTest) return std::min(n, kMostAsked);
  return std::min(n_asked_, (n + 1) / 2);  // two examples: heads are fitted on one and judged on another
}

RowsTask::Example RowsTask::example(Split split, std::int64_t index) const {
  if (split == Split::kTrain) {
    std::vector<std::size_t> rows = rows_.train;
    Random random(seed_, static_cast<std::uint64_t>(index), kStream);
    const auto length = static_cast<std::size_t>(shape_.seq_len), asked = static_cast<std::size_t>(n_asked_);
    draw_first(random, rows, length);
    const auto first = rows.begin(), end = first + static_cast<std::ptrdiff_t>(length);
    return {{first + static_cast<std::ptrdiff_t>(asked), end},
            {first, first + static_cast<std::ptrdiff_t>(asked)},
            shape_.seq_len};
  }
  const std::vector<std::size_t>& all = rows_.of(split);
  const std::int64_t most = at_once(split);
  const std::vector<std::size_t>& known = split == Split::kTest ? known_ : known_validation_;
  const auto first = all.begin() + index * most;
  return {known, {first, first + std::min<std::int64_t>(most, all.end() - first)}, std::ssize(known) + most};
}

void RowsTask::add_known(Batch& batch, std::size_t row) const {
  batch.tokens.push_back(kRow);
  batch.labels.push_back(kNotCounted);
  batch.values.push_back(0.0F);
  batch.lines.push_back(rows_.lines[row]);
  const std::span<const double> x = rows_.x_of(row);
  for (std::size_t k = 0; k < x.size(); ++k) batch.features.push_back(rows_.x_scaling[k].scaled(x[k]));
  batch.features.push_back(rows_.y_scaling.scaled(rows_.y[row]));
}

void RowsTask::add_asked(Batch& batch, std::span<const double> x) const {
  batch.tokens.push_back(kAsked);
  for (std::size_t k = 0; k < x.size(); ++k) batch.features.push_back(rows_.x_scaling[k].scaled(x[k]));
  batch.features.push_back(0.0F);
}

void RowsTask::add(Batch& batch, const Example& example) const {
  for (const std::size_t row : example.known) add_known(batch, row);
  for (const std::size_t row : example.asked) {
    add_asked(batch, rows_.x_of(row));
    batch.labels.push_back(0);
    batch.values.push_back(rows_.y_scaling.scaled(rows_.y[row]));
    batch.lines.push_back(rows_.lines[row]);
  }
  const auto missing =
      static_cast<std::size_t>(example.length - std::ssize(example.known) - std::ssize(example.asked));
  batch.tokens.resize(batch.tokens.size() + missing, kAsked);
  batch.labels.resize(batch.tokens.size(), kNotCounted);
  batch.values.resize(batch.tokens.size(), 0.0F);
  batch.lines.resize(batch.tokens.size(), 0);
  batch.features.resize(batch.tokens.size() * static_cast<std::size_t>(shape_.n_features), 0.0F);
}

Batch RowsTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  Batch batch;
  batch.examples = count;
  for (std::int64_t i = first; i < first + count; ++i) {
    const Example one = example(split, i);
    batch.length = one.length;
    add(batch, one);
  }
  return batch;
}

Batch RowsTask::asked(std::span<const double> x) const {
  Batch batch;
  for (const std::size_t row : known_) add_known(batch, row);
  for (; !x.empty(); x = x.subspan(rows_.features.size())) add_asked(batch, x.first(rows_.features.size()));
  batch.examples = 1;
  batch.length = std::ssize(batch.tokens);
  batch.labels.resize(batch.tokens.size(), 0);
  batch.values.resize(batch.tokens.size(), 0.0F);
  batch.lines.resize(batch.tokens.size(), 0);
  return batch;
}

std::vector<std::int64_t> RowsTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, shape_.name);
}

std::string RowsTask::position_text(const Batch& batch, std::size_t at) const {
  if (batch.lines.empty() || batch.lines[at] == 0) return token_text(batch.tokens[at]);
  if (batch.tokens[at] == kAsked) return fmt::format("line {} (?)", batch.lines[at]);
  const float scaled = batch.features[(at + 1) * static_cast<std::size_t>(shape_.n_features) - 1];
  return fmt::format("line {} ({:.4g})", batch.lines[at], rows_.y_scaling.original(scaled));
}

std::string RowsTask::overlap_note() const {
  if (known_.size() == rows_.known.size()) return {};
  return fmt::format("The test rows see {} of the {} rows known before them, chosen by the seed.",
                     known_.size(), rows_.known.size());
}

}  // namespace headtorch::tasks
