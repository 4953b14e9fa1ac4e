#include "src/tasks/lags_task.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/tasks/epochs.hpp"
#include "src/tasks/sizes.hpp"

namespace headtorch::tasks {

LagsTask::LagsTask(const TaskOptions& options, Rows rows, std::uint64_t seed)
    : rows_(std::move(rows)), seed_(seed) {
  check_fixed_size("n_symbols", options.n_symbols, 1);
  const std::int64_t lags = std::ssize(rows_.features);
  if (options.seq_len != 0 && options.seq_len != lags) {
    throw ConfigError("task",
                      fmt::format("a window of lags = {} does not fit seq_len = {}: expected the same "
                                  "number, or seq_len = auto",
                                  lags, options.seq_len));
  }
  shape_.name = options.name;
  shape_.n_symbols = 1;
  shape_.n_classes = 1;
  shape_.seq_len = lags;
  shape_.n_features = 1;
  shape_.measure = Measure::kReal;
  shape_.value_unit = rows_.y_scaling.sd;
  shape_.error_block = static_cast<std::int64_t>(std::ceil(std::cbrt(rows_.test.size())));  // as in RowsTask
}

std::int64_t LagsTask::size(Split split) const { return size_of(split, rows_.of(split).size()); }

void LagsTask::add(Batch& batch, std::span<const double> x, float value) const {
  for (std::size_t lag = x.size(); lag > 0; --lag) {
    batch.features.push_back(rows_.x_scaling[lag - 1].scaled(x[lag - 1]));
    batch.tokens.push_back(0);
    batch.labels.push_back(lag == 1 ? 0 : kNotCounted);
    batch.values.push_back(lag == 1 ? value : 0.0F);
  }
}

Batch LagsTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  Batch batch;
  batch.examples = count;
  batch.length = shape_.seq_len;
  const std::vector<std::size_t>& all = rows_.of(split);
  Epochs epochs(seed_, split, std::ssize(all));
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::size_t row = all[epochs.at(i)];
    add(batch, rows_.x_of(row), rows_.y_scaling.scaled(rows_.y[row]));
  }
  return batch;
}

Batch LagsTask::asked(std::span<const double> x) const {
  Batch batch;
  batch.length = shape_.seq_len;
  for (; !x.empty(); x = x.subspan(rows_.features.size()), ++batch.examples)
    add(batch, x.first(rows_.features.size()), 0.0F);
  return batch;
}

std::vector<std::int64_t> LagsTask::parse_tokens(std::string_view input) const {
  return vocabulary_.parse(input, shape_.name);
}

std::string LagsTask::position_text(const Batch& batch, std::size_t at) const {
  if (batch.features.empty()) return token_text(batch.tokens[at]);
  const std::int64_t lag = batch.length - static_cast<std::int64_t>(at) % batch.length;
  return fmt::format("lag {} ({:.4g})", lag, rows_.y_scaling.original(batch.features[at]));
}

}  // namespace headtorch::tasks
