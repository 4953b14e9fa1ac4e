#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/run_flags.hpp"
#include "src/cli/task_examples.hpp"
#include "src/cli/verbs.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostExamples = 1000;

struct TasksFlags {
  RunFlags run;
  std::string sample;
  bool json = false;
};

const char* reading_name(tasks::Reading reading) {
  switch (reading) {
    case tasks::Reading::kWholeSequence:
      return "whole sequence";
    case tasks::Reading::kLeftToRight:
      return "left to right";
    case tasks::Reading::kSourceToTarget:
      return "source to target";
  }
  return "";
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
                      {"reading", reading_name(task.reading)},
                      {"translates", task.translates}});
    }
    print_json(nlohmann::ordered_json{{"tasks", list}});
    return ExitCode::kDone;
  }
  using report::Align;
  report::Table table;
  table.headers = {"task", "symbols", "length", "test", "read", "what is to be learned"};
  table.align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft};
  const auto or_file = [](std::int64_t n) { return n > 0 ? std::to_string(n) : "by file"; };
  std::vector<std::string> both;
  for (const auto& task : all) {
    if (task.translates) both.push_back(task.name);
    table.rows.push_back({task.name, or_file(task.n_symbols), or_file(task.seq_len), or_file(task.n_test),
                          reading_name(task.reading), task.summary});
  }
  print(report::to_text(table));
  print(
      fmt::format("\n{} can also be read from source to target: --family encoder-decoder.\n"
                  "Next: {} tasks reverse --sample 3\n",
                  fmt::join(both, ", "), command_name()));
  return ExitCode::kDone;
}

ExitCode show_examples(const TasksFlags& flags) {
  const std::int64_t count =
      flags.sample.empty() ? 1 : whole_number("--sample", flags.sample, 1, kMostExamples);
  const train::RunConfig config = resolve(flags.run);
  const auto task = train::make_task(config);
  const tasks::Batch batch = task->batch(tasks::Split::kTrain, 0, count);
  if (flags.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (std::int64_t i = 0; i < count; ++i) list.push_back(example_document(*task, batch, i));
    print_json(nlohmann::ordered_json{{"task", task->shape().name},
                                      {"n_symbols", task->shape().n_symbols},
                                      {"n_classes", task->shape().n_classes},
                                      {"seq_len", task->shape().seq_len},
                                      {"note", task->overlap_note()},
                                      {"examples", list}});
    return ExitCode::kDone;
  }
  for (std::int64_t i = 0; i < count; ++i) print(example_text(*task, batch, i));
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
    return setting.section == "task" || setting.name == "seed" || setting.name == "family";
  });
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Examples:\n  {0} tasks\n  {0} tasks copy --sample 3", command_name()));
  verb->callback([flags, &action] {
    action = [flags] { return flags->run.task.empty() ? list_tasks(*flags) : show_examples(*flags); };
  });
}

}  // namespace headtorch::cli
