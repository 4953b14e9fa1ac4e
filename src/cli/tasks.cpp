#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/run_flags.hpp"
#include "src/cli/verbs.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostExamples = 1000;
constexpr std::string_view kNotCountedMark = "_";

struct TasksFlags {
  RunFlags run;
  std::string sample;
  bool json = false;
};

const char* reading_name(tasks::Reading reading) {
  return reading == tasks::Reading::kLeftToRight ? "left to right" : "whole sequence";
}

ExitCode list_tasks(const TasksFlags& flags) {
  const auto all = tasks::describe_tasks();
  if (flags.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& task : all) {
      list.push_back({{"name", task.name},
                      {"summary", task.summary},
                      {"n_symbols", task.n_symbols},
                      {"seq_len", task.seq_len},
                      {"n_test", task.n_test},
                      {"reading", reading_name(task.reading)}});
    }
    print_json(nlohmann::ordered_json{{"tasks", list}});
    return ExitCode::kDone;
  }
  using report::Align;
  report::Table table;
  table.headers = {"task", "symbols", "length", "test", "read", "what is to be learned"};
  table.align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft};
  const auto or_file = [](std::int64_t n) { return n > 0 ? std::to_string(n) : "by file"; };
  for (const auto& task : all) {
    table.rows.push_back({task.name, or_file(task.n_symbols), std::to_string(task.seq_len),
                          or_file(task.n_test), reading_name(task.reading), task.summary});
  }
  print(report::to_text(table));
  print(fmt::format("\nNext: {} tasks reverse --sample 3\n", command_name()));
  return ExitCode::kDone;
}

/// Tokens, labels and what counts, of one example.
struct Example {
  std::vector<std::int64_t> tokens, labels;
};

std::vector<Example> examples_of(const tasks::Batch& batch) {
  std::vector<Example> examples;
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const auto row = [&](const std::vector<std::int64_t>& values) {
      return std::vector(values.begin() + i * batch.length, values.begin() + (i + 1) * batch.length);
    };
    examples.push_back({row(batch.tokens), row(batch.labels)});
  }
  return examples;
}

nlohmann::ordered_json example_document(const Example& example, const tasks::Task& task) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::array(), counted = nlohmann::ordered_json::array();
  for (const std::int64_t label : example.labels) {
    const bool counts = label != tasks::kNotCounted;
    labels.push_back(counts ? nlohmann::ordered_json(label) : nlohmann::ordered_json(nullptr));
    counted.push_back(counts);
  }
  std::vector<std::string> shown;
  for (const std::int64_t token : example.tokens) shown.push_back(task.token_text(token));
  return {{"tokens", example.tokens}, {"labels", labels}, {"counted", counted}, {"shown", shown}};
}

std::string example_text(const Example& example, const tasks::Task& task) {
  std::string tokens = "tokens", labels = "labels";
  for (std::size_t i = 0; i < example.tokens.size(); ++i) {
    const std::string token = task.token_text(example.tokens[i]);
    const std::string label = example.labels[i] == tasks::kNotCounted ? std::string(kNotCountedMark)
                              : task.shape().n_classes == task.shape().n_symbols
                                  ? task.token_text(example.labels[i])
                                  : std::to_string(example.labels[i]);
    const std::int64_t width = std::max(report::display_width(token), report::display_width(label));
    tokens += " " + report::pad(token, width, report::Align::kRight);
    labels += " " + report::pad(label, width, report::Align::kRight);
  }
  return tokens + "\n" + labels + "\n\n";
}

ExitCode show_examples(const TasksFlags& flags) {
  const std::int64_t count =
      flags.sample.empty() ? 1 : whole_number("--sample", flags.sample, 1, kMostExamples);
  const train::RunConfig config = resolve(flags.run);
  const auto task = tasks::make_task(config.task, static_cast<std::uint64_t>(config.train.seed));
  const std::vector<Example> examples = examples_of(task->batch(tasks::Split::kTrain, 0, count));
  if (flags.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Example& example : examples) list.push_back(example_document(example, *task));
    print_json(nlohmann::ordered_json{{"task", task->shape().name},
                                      {"n_symbols", task->shape().n_symbols},
                                      {"n_classes", task->shape().n_classes},
                                      {"seq_len", task->shape().seq_len},
                                      {"note", task->overlap_note()},
                                      {"examples", list}});
    return ExitCode::kDone;
  }
  for (const Example& example : examples) print(example_text(example, *task));
  print(fmt::format("A label {} is not counted.{}\nNext: {} train {}\n", kNotCountedMark,
                    task->overlap_note().empty() ? "" : " " + task->overlap_note(), command_name(),
                    config.task.name));
  return ExitCode::kDone;
}

}  // namespace

void add_tasks(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TasksFlags>();
  CLI::App* verb = program.add_subcommand("tasks", "What can be learned, and examples of it");
  verb->add_option("TASK", flags->run.task, "Show examples of this task")->type_name("");
  verb->add_option("--sample", flags->sample, "How many examples (1)")->type_name("N");
  add_setting_flags(*verb, flags->run, [](const train::Setting& setting) {
    return setting.section == "task" || setting.name == "seed";
  });
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Examples:\n  {0} tasks\n  {0} tasks copy --sample 3", command_name()));
  verb->callback([flags, &action] {
    action = [flags] { return flags->run.task.empty() ? list_tasks(*flags) : show_examples(*flags); };
  });
}

}  // namespace headtorch::cli
