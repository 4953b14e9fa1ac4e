#include "src/tasks/table_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/tasks/task_table.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::uint64_t kStream = 0x7476'0000;  // keeps these draws apart from other uses of the seed
constexpr std::size_t kMostWords = 20;

using table::Column;
using table::ColumnKind;

/// Row numbers in ascending order.
std::vector<std::size_t> part(const std::vector<std::int64_t>& order, std::size_t first, std::size_t count) {
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<std::size_t> rows(begin, begin + static_cast<std::ptrdiff_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

void split(Rows& rows, std::uint64_t seed, std::int64_t n_train) {
  const std::size_t n = rows.y.size(), test = n_test(n), validation = n_validation(n);
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, 0, kStream);
  random.shuffle(order);
  rows.test = part(order, 0, test);
  rows.validation = part(order, test, validation);
  rows.train = part(order, test + validation, n_used(n_train, n - test - validation));
  rows.known = rows.train;
}

void check_target(const table::Table& table, const Column& target) {
  if (target.kind == ColumnKind::kNumber) return;
  throw DataError(
      table.name,
      fmt::format("column {}: holds {}, expected numbers to predict (classes: headtorch "
                  "regress --y {})",
                  target.name, target.kind == ColumnKind::kWord ? "words" : "dates", target.name));
}

void check_input(const table::Table& table, const Column& column) {
  const std::size_t words = column.categories.size();
  if (column.kind != ColumnKind::kWord || words <= kMostWords || 2 * words <= table.rows()) return;
  throw DataError(table.name,
                  fmt::format("column {}: {} different words in {} rows are a text and no category, "
                              "expected --leave-out {}",
                              column.name, words, table.rows(), column.name));
}

std::vector<const Column*> inputs_of(const table::Table& table, const Column& target,
                                     const std::string& leave_out) {
  std::vector<const Column*> left_out = {&target};
  for (const std::string& name : listed(leave_out))
    left_out.push_back(&table::find_column(table, name, "leave_out"));
  std::vector<const Column*> inputs;
  for (const Column& column : table.columns) {
    if (std::find(left_out.begin(), left_out.end(), &column) != left_out.end()) continue;
    check_input(table, column);
    inputs.push_back(&column);
  }
  if (inputs.empty()) {
    throw ConfigError("task", fmt::format("no column of {} is left to predict {} from, expected at least one",
                                          table.name, target.name));
  }
  return inputs;
}

}  // namespace

std::vector<std::string> TableForm::names() const {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    if (input.kind != ColumnKind::kWord) names.push_back(input.column);
    for (const std::string& word : input.words) names.push_back(fmt::format("{} = {}", input.column, word));
  }
  return names;
}

void TableForm::append(const table::Table& table, std::size_t row, std::vector<double>& x) const {
  for (const Input& input : inputs) {
    const Column& column = table::find_column(table, input.column, "columns");
    const auto refuse = [&](std::string_view what) {
      throw DataError(table.name,
                      fmt::format("line {}, column {}: {}", table.lines[row], input.column, what));
    };
    if (column.is_missing(row)) refuse("a missing value, expected one");
    if (column.kind != input.kind) refuse("is of another kind than in the rows learned from");
    if (input.kind != ColumnKind::kWord) {
      x.push_back(column.numbers[row]);
      continue;
    }
    const std::string& word = column.categories[static_cast<std::size_t>(column.codes[row])];
    if (std::find(input.words.begin(), input.words.end(), word) == input.words.end())
      refuse(fmt::format("\"{}\" is new, expected one of {}", word, fmt::join(input.words, ", ")));
    for (const std::string& known : input.words) x.push_back(known == word ? 1.0 : 0.0);
  }
}

TableRows table_rows(const TaskOptions& options, std::uint64_t seed) {
  const table::Table table = read_task_table(options);
  const Column& target = named_column(table, "target", options.target);
  check_target(table, target);
  std::vector<const Column*> columns = inputs_of(table, target, options.leave_out);
  TableRows made;
  for (const Column* column : columns)
    made.form.inputs.push_back({column->name, column->kind, column->categories});
  columns.push_back(&target);
  Rows& rows = made.rows;
  rows.file = table.name;
  rows.target = target.name;
  rows.features = made.form.names();
  for (const std::size_t row : table::complete_rows(table, columns, options.missing)) {
    made.form.append(table, row, rows.x);
    rows.y.push_back(target.numbers[row]);
    rows.lines.push_back(table.lines[row]);
  }
  check_enough(rows, "those without missing values");
  split(rows, seed, options.n_train);
  scale(rows);
  return made;
}

}  // namespace headtorch::tasks
