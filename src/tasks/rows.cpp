#include "src/tasks/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

template <typename ValueOf>
Scaling scaling_of(const std::vector<std::size_t>& rows, const ValueOf& value_of) {
  const auto n = static_cast<double>(rows.size());
  const double first = value_of(rows.front());  // sums of what differs from it stay exact for constants
  double sum = 0.0, squares = 0.0;
  for (const std::size_t row : rows) sum += value_of(row) - first;
  const double mean = sum / n;
  for (const std::size_t row : rows) squares += std::pow(value_of(row) - first - mean, 2);
  return {first + mean, std::sqrt(squares / n)};
}

}  // namespace

const std::vector<std::size_t>& Rows::of(Split split) const {
  if (split == Split::kTrain) return train;
  return split == Split::kTest ? test : validation;
}

void scale(Rows& rows) {
  const std::size_t width = rows.features.size();
  rows.x_scaling.clear();
  for (std::size_t k = 0; k < width; ++k)
    rows.x_scaling.push_back(
        scaling_of(rows.train, [&](std::size_t row) { return rows.x[row * width + k]; }));
  rows.y_scaling = scaling_of(rows.train, [&](std::size_t row) { return rows.y[row]; });
  if (!(rows.y_scaling.sd > 0.0) || !std::isfinite(rows.y_scaling.sd)) {
    throw DataError(rows.file, fmt::format("column {}: has a standard deviation of {} in the training rows, "
                                           "expected values that differ and are not beyond all measure",
                                           rows.target, rows.y_scaling.sd));
  }
}

void check_enough(const Rows& rows, std::string_view from) {
  if (std::ssize(rows.y) < kFewestRows) {
    throw DataError(rows.file, fmt::format("gives {} rows to learn from ({}), expected at least {}",
                                           rows.y.size(), from, kFewestRows));
  }
}

std::size_t n_test(std::size_t n) { return (n + 4) / 5; }
std::size_t n_validation(std::size_t n) { return (n - n_test(n) + 9) / 10; }

std::size_t n_used(std::int64_t asked, std::size_t n_known) {
  constexpr std::int64_t kFewest = 10;
  if (asked == 0) return n_known;
  if (asked < kFewest || asked > static_cast<std::int64_t>(n_known))
    throw ConfigError("task", fmt::format("{} training rows: expected {} to {}", asked, kFewest, n_known));
  return static_cast<std::size_t>(asked);
}

std::vector<std::string> listed(std::string_view names) {
  std::vector<std::string> all;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    if (!name.empty()) all.emplace_back(name);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return all;
}

}  // namespace headtorch::tasks
