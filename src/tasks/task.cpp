#include "src/tasks/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/core/error.hpp"
#include "src/tasks/dates_task.hpp"
#include "src/tasks/digits_question_task.hpp"
#include "src/tasks/digits_task.hpp"
#include "src/tasks/functions_task.hpp"
#include "src/tasks/lags_task.hpp"
#include "src/tasks/regression_task.hpp"
#include "src/tasks/rows_task.hpp"
#include "src/tasks/series_rows.hpp"
#include "src/tasks/symbol_task.hpp"
#include "src/tasks/table_rows.hpp"
#include "src/tasks/target_form.hpp"
#include "src/tasks/text_task.hpp"

namespace headtorch::tasks {
namespace {

/// Options that mean something to a task; any other is refused, so that none is silently without effect.
struct Takes {
  bool file = false, pairs = false, digit_order = false, operation = false, source = false;
  bool series = false, table = false;
};

struct Entry {
  const char* name;
  const char* summary;
  std::unique_ptr<Task> (*make)(const TaskOptions& options, std::uint64_t seed);
  Takes takes = {};
};

template <SymbolRule (*rule)(const TaskOptions& options)>
std::unique_ptr<Task> symbols(const TaskOptions& options, std::uint64_t seed) {
  auto task = std::make_unique<SymbolTask>(rule(options), seed);
  if (options.reading == Reading::kSourceToTarget) return std::make_unique<TargetForm>(std::move(task));
  return task;
}

template <typename Made>
std::unique_ptr<Task> task_of(const TaskOptions& options, std::uint64_t seed) {
  return std::make_unique<Made>(options, seed);
}

std::unique_ptr<Task> series_task(const TaskOptions& options, std::uint64_t seed) {
  Rows rows = series_rows(options).rows;
  if (options.attend == Attend::kRows) return std::make_unique<RowsTask>(options, std::move(rows), seed);
  return std::make_unique<LagsTask>(options, std::move(rows), seed);
}

std::unique_ptr<Task> table_task(const TaskOptions& options, std::uint64_t seed) {
  return std::make_unique<RowsTask>(options, table_rows(options, seed).rows, seed);
}

constexpr Entry kTasks[] = {
    {"reverse", "the sequence backwards", symbols<reverse_rule>, {.source = true}},
    {"copy", "each symbol three places later", symbols<copy_rule>, {.source = true}},
    {"sort", "the symbols in ascending order", symbols<sort_rule>, {.source = true}},
    {"histogram", "how often each symbol occurs in the sequence", symbols<histogram_rule>, {.source = true}},
    {"induction", "the next symbol of a sequence that repeats with a random period", symbols<induction_rule>},
    {"add", "the sum of two numbers, digit by digit", symbols<add_rule>, {.digit_order = true}},
    {"recall", "the value that a key stood with", symbols<recall_rule>, {.pairs = true}},
    {"mqar", "recall among thousands of symbols and distractors", symbols<mqar_rule>, {.pairs = true}},
    {"select", "symbols scattered among blanks, in their order", symbols<select_rule>, {.pairs = true}},
    {"dyck", "the bracket that closes the one still open", symbols<dyck_rule>},
    {"modular",
     "arithmetic modulo a prime from half of all pairs",
     symbols<modular_rule>,
     {.operation = true}},
    {"markov", "the next symbol of a chain whose probabilities are new each time", symbols<markov_rule>},
    {"regression", "y of a new x, linear as in the points before it", task_of<RegressionTask>},
    {"functions", "y of a new x, on a smooth curve through the points before it", task_of<FunctionsTask>},
    {"dates", "a date as people write it, to ISO", task_of<DatesTask>, {.source = true}},
    {"digits", "the digit in an image of 8x8 pixels", task_of<DigitsTask>},
    {"digits-question",
     "a question in words about such an image",
     task_of<DigitsQuestionTask>,
     {.source = true}},
    {"text", "the next character of a text of your own, --file FILE", task_of<TextTask>, {.file = true}},
    {"series",
     "what comes next in a column of a CSV, --file FILE --column C",
     series_task,
     {.file = true, .series = true}},
    {"table",
     "a column of a CSV from the others, --file FILE --target C",
     table_task,
     {.file = true, .table = true}},
};

void check_options(const Entry& entry, const TaskOptions& options) {
  const auto refuse = [&](std::string_view what, std::string_view only) {
    throw ConfigError("task", fmt::format("{}: only {}, {} does not", what, only, entry.name));
  };
  if (!options.file.empty() && !entry.takes.file)
    refuse(fmt::format("file = \"{}\"", options.file), "text, series and table read a file");
  if (options.n_pairs != 0 && !entry.takes.pairs)
    refuse(fmt::format("n_pairs = {}", options.n_pairs), "recall, mqar and select have pairs");
  if (options.digit_order != DigitOrder::kReversed && !entry.takes.digit_order)
    refuse("digit_order = plain", "add writes numbers");
  if (options.operation != Operation::kDivide && !entry.takes.operation)
    refuse("operation other than divide", "modular calculates");
  const TaskOptions none;
  if (!entry.takes.series) {
    const std::string_view only = "series has it";
    if (!options.column.empty()) refuse(fmt::format("column = \"{}\"", options.column), only);
    if (options.lags != 0) refuse(fmt::format("lags = {}", options.lags), only);
    if (options.horizon != 0) refuse(fmt::format("horizon = {}", options.horizon), only);
    if (options.attend != none.attend) refuse("attend = rows", "series can choose");
  }
  if (!entry.takes.table) {
    if (!options.target.empty()) refuse(fmt::format("target = \"{}\"", options.target), "table has it");
    if (!options.leave_out.empty())
      refuse(fmt::format("leave_out = \"{}\"", options.leave_out), "table has it");
  }
  if (options.missing != none.missing && !entry.takes.series && !entry.takes.table)
    refuse("missing = drop", "series and table read a CSV");
  if (options.reading == Reading::kSourceToTarget && !entry.takes.source) {
    refuse("family = encoder-decoder",
           "reverse, copy, sort, histogram, dates and digits-question go from a source to a target");
  }
}

TaskDescription describe(const Entry& entry) {
  TaskDescription description;
  description.name = entry.name;
  description.summary = entry.summary;
  if (entry.takes.file) {
    const bool is_text = !entry.takes.series && !entry.takes.table;
    description.seq_len = is_text ? 64 : 0;
    description.reading = is_text ? Reading::kLeftToRight : Reading::kWholeSequence;
    return description;
  }
  const auto task = entry.make({.name = entry.name}, 1);
  description.n_symbols = task->shape().n_symbols;
  description.seq_len = task->shape().seq_len;
  description.n_test = task->size(Split::kTest);
  description.reading = task->shape().reading;
  description.translates = entry.takes.source && description.reading != Reading::kSourceToTarget;
  return description;
}

}  // namespace

std::string Task::label_text(std::int64_t label) const {
  return shape().n_classes <= shape().n_symbols ? token_text(label) : std::to_string(label);
}

std::vector<std::int64_t> Task::first_prompt() const {
  const Batch example = batch(Split::kValidation, 0, 1);
  const auto answers = std::find_if(example.labels.begin(), example.labels.end(),
                                    [](std::int64_t label) { return label != kNotCounted; });
  const auto length = std::min(answers - example.labels.begin() + 1, std::ssize(example.tokens));
  return {example.tokens.begin(), example.tokens.begin() + length};
}

std::string typed(const Task& task, std::span<const std::int64_t> tokens) {
  const std::string_view between = task.spelling() == Spelling::kWords ? " " : "";
  std::string text;
  for (const std::int64_t token : tokens) {
    if (!text.empty()) text += between;
    text += task.typed_text(token);
  }
  return text;
}

std::string Task::source_token_text(std::int64_t) const {
  throw DataError("task", fmt::format("{} has no source", shape().name));
}

std::vector<std::int64_t> Task::parse_source(std::string_view) const {
  throw DataError("input", fmt::format("the task {} has no source, expected tokens alone", shape().name));
}

std::vector<TaskDescription> describe_tasks() {
  static const std::vector<TaskDescription> kDescriptions = [] {
    std::vector<TaskDescription> all;
    for (const Entry& entry : kTasks) all.push_back(describe(entry));
    return all;
  }();
  return kDescriptions;
}

std::unique_ptr<Task> make_task(const TaskOptions& options, std::uint64_t seed) {
  std::vector<std::string_view> names;
  for (const Entry& entry : kTasks) {
    names.emplace_back(entry.name);
    if (options.name != entry.name) continue;
    check_options(entry, options);
    return entry.make(options, seed);
  }
  throw UsageError(
      "task", fmt::format("\"{}\" is not a task: expected one of {}", options.name, fmt::join(names, ", ")));
}

}  // namespace headtorch::tasks
