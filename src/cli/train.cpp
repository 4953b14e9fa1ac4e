#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include "src/cli/documents.hpp"
#include "src/cli/heads_document.hpp"
#include "src/cli/output.hpp"
#include "src/cli/points_document.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/recorder.hpp"
#include "src/cli/run_flags.hpp"
#include "src/cli/run_page.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/interrupt.hpp"
#include "src/core/log.hpp"
#include "src/report/figures.hpp"
#include "src/report/maps.hpp"
#include "src/report/terminal.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

struct TrainFlags {
  RunFlags run;
  std::string out;
  bool overwrite = false, json = false, quiet = false;
};

/// Whether the setting says what the task has decided; some tasks count otherwise, or have no choice.
bool names_the_same_task(const train::RunConfig& config, const tasks::Task& task) {
  try {
    const tasks::TaskShape shape = train::make_task(config)->shape();
    return shape.seq_len == task.shape().seq_len && shape.n_symbols == task.shape().n_symbols &&
           shape.n_classes == task.shape().n_classes;
  } catch (const Error&) {
    return false;
  }
}

/// What the task decides goes into config.toml, so that the run can be repeated from any folder and by a
/// later version.
void settle(train::RunConfig& config, const tasks::Task& task) {
  if (!config.task.file.empty()) {
    config.task.file = std::filesystem::absolute(config.task.file).string();
    config.task.seq_len = task.shape().seq_len;
    return;
  }
  for (const auto& [setting, value] : {std::pair(&tasks::TaskOptions::seq_len, task.shape().seq_len),
                                       std::pair(&tasks::TaskOptions::n_symbols, task.shape().n_classes)}) {
    train::RunConfig settled = config;
    settled.task.*setting = value;
    if (names_the_same_task(settled, task)) config = settled;
  }
}

/// What can be known before the run is not left to its end.
void check_eval_lengths(const train::RunConfig& config, const tasks::Task& task) {
  for (const std::int64_t length : config.train.eval_lengths) {
    if (config.model.position == nn::Position::kLearned && length > task.shape().seq_len) {
      throw ConfigError(
          "--eval-lengths",
          fmt::format("{} is longer than the table of learned positions, which ends at {}: expected at "
                      "most that, or another --position",
                      length, task.shape().seq_len));
    }
    train::RunConfig other = config;
    other.task.seq_len = length;
    train::make_task(other);
  }
}

std::vector<std::string> notes_on(const train::RunConfig& config, const tasks::Task& task) {
  std::vector<std::string> notes = train::advice(config);
  if (std::string note = task.overlap_note(); !note.empty()) notes.push_back(std::move(note));
  return notes;
}

std::string percent(double share) { return report::readable(100.0 * share, 4) + " %"; }

std::string test_summary(const train::RunConfig& config, const train::Evaluation& test) {
  if (test.n == 0) return "stopped before the test";
  if (config.task.name == "text") {
    return fmt::format(
        "{} nats a character over {} characters of the validation part ({} of them guessed right)",
        report::readable(test.loss), test.counted, percent(test.token_accuracy));
  }
  if (test.r2) {
    std::string text =
        fmt::format("root mean squared error {} on {} held-out sequences, R2 {}",
                    report::readable(test.rmse.value_or(0.0), 3), test.n, report::readable(*test.r2, 3));
    if (test.interval) {
      text = fmt::format(
          "root mean squared error {} (95 %: {} to {}), mean absolute error {} in {} on {} held-out rows, R2 "
          "{}",
          report::readable(test.rmse.value_or(0.0), 4), report::readable(test.interval->rmse_low, 4),
          report::readable(test.interval->rmse_high, 4), report::readable(test.mae.value_or(0.0), 4),
          config.task.name == "series" ? config.task.column : config.task.target, test.counted,
          report::readable(*test.r2, 3));
    }
    if (test.best_loss)
      text += fmt::format("; the best possible {}", report::readable(std::sqrt(*test.best_loss), 3));
    return text;
  }
  std::string text =
      fmt::format("{} of {} held-out sequences right (tokens {}, loss {})", percent(test.sequence_accuracy),
                  test.n, percent(test.token_accuracy), report::readable(test.loss, 3));
  if (test.free_running_accuracy) {
    text += fmt::format("; {} of {} when it reads its own answers", percent(*test.free_running_accuracy),
                        test.free_running_n);
  }
  if (test.best_loss)
    text +=
        fmt::format("; {} nats above the best possible", report::readable(test.loss - *test.best_loss, 3));
  return text;
}

/// A line for each other length that was tested.
std::string by_length_text(const train::RunResult& result) {
  std::string text;
  for (const train::LengthResult& at : result.by_length) {
    text += fmt::format("length {}: ", at.length);
    if (!at.test) {
      text += at.why_not + '\n';
    } else if (at.test->r2) {
      text += fmt::format("root mean squared error {}\n", report::readable(at.test->rmse.value_or(0.0), 3));
    } else {
      text += fmt::format("{} of {} sequences right (tokens {})\n", percent(at.test->sequence_accuracy),
                          at.test->n, percent(at.test->token_accuracy));
    }
  }
  return text;
}

/// The head whose rows are sharpest: the one that most likely shows what was learned.
report::Selection sharpest_head(const AttentionMaps& maps) {
  report::Selection best;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t layer = 0; layer < maps.layers.size(); ++layer) {
    const LayerWeights& weights = maps.layers[layer];
    for (std::int64_t head = 0; head < weights.heads; ++head) {
      const double entropy = report::summarise(weights.head(0, head), weights.queries, weights.keys).entropy;
      if (entropy < lowest) {
        lowest = entropy;
        best = {static_cast<std::int64_t>(layer), head, 0};
      }
    }
  }
  return best;
}

/// A sentence a head, and what is lost when all are replaced.
std::string heads_text(const train::HeadStudy& study) {
  if (study.heads.empty()) return {};
  constexpr std::size_t kMost = 16;
  std::string text = "\n";
  for (std::size_t i = 0; i < std::min(study.heads.size(), kMost); ++i)
    text += sentence(study.heads[i]) + '\n';
  if (study.heads.size() > kMost) text += fmt::format("... and {} heads more\n", study.heads.size() - kMost);
  return text + replaced_sentence(study) + ".\n";
}

std::string summary(const train::RunConfig& config, const train::RunResult& result, const std::string& run,
                    const AttentionMaps& maps, const train::HeadStudy& study) {
  std::string text = fmt::format("{}: {}\n", config.task.name, test_summary(config, result.test));
  text += fmt::format("{} parameters, {} in {} s of training, {} tokens/s, {} on {}\n", result.parameters,
                      report::counted(result.steps, "step"), report::readable(result.seconds, 3),
                      report::readable(result.tokens_per_second, 3),
                      report::counted(result.threads, "thread"), result.device);
  if (!result.stop_reason.empty()) text += fmt::format("Stopped early: {}\n", result.stop_reason);
  text += by_length_text(result);
  if (!result.by_points.empty()) text += '\n' + points_text(result.by_points);
  if (output_is_terminal() && !maps.layers.empty()) {
    const report::Selection head = sharpest_head(maps);
    text += '\n' + report::terminal_picture(maps, {.layer = head.layer,
                                                   .head = head.head,
                                                   .columns = terminal_columns(),
                                                   .colour = terminal_colour()});
  }
  text += heads_text(study);
  text += fmt::format(
      "\nWritten: {} (report.html to look at it all, pictures in heatmaps/, weights in attention/)\n", run);
  text += fmt::format("Next: {} heads {}\n", command_name(), run);
  if (config.task.file.empty() && config.model.family != models::Family::kEncoderDecoder)
    text += fmt::format("      {} compare {}\n", command_name(), config.task.name);
  return text;
}

ExitCode exit_code(const train::RunResult& result) {
  switch (result.ending) {
    case train::Ending::kComplete:
      return ExitCode::kDone;
    case train::Ending::kInterrupted:
      return ExitCode::kInterrupted;
    case train::Ending::kTerminated:
      return ExitCode::kTerminated;
    case train::Ending::kDiverged:
      return ExitCode::kCheckFailed;
  }
  return ExitCode::kInternal;
}

void tell_ending(const train::RunResult& result, const std::string& run) {
  if (result.ending == train::Ending::kComplete) return;
  if (result.ending == train::Ending::kDiverged) {
    spdlog::error(
        "[train] diverged: {} in all were not finite, stopped after {} with the last good weights in {}; try "
        "a "
        "lower --lr or a longer --warmup",
        report::counted(result.non_finite_steps, "step"), report::counted(result.steps, "step"), run);
    return;
  }
  spdlog::warn("[train] {} after {}; what was learned is in {}", ending_name(result.ending),
               report::counted(result.steps, "step"), run);
}

ExitCode train_run(const TrainFlags& flags) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  train::RunConfig config = resolve(flags.run);
  train::check(config);
  const auto task = train::make_task(config);
  settle(config, *task);
  check_eval_lengths(config, *task);
  const std::vector<std::string> notes = notes_on(config, *task);
  for (const std::string& note : notes) spdlog::info("note: {}", note);

  catch_interrupts();
  Progress progress(progress_style(flags.quiet), config.train.steps);
  const auto occupied = flags.overwrite ? store::Occupied::kOverwrite : store::Occupied::kRefuse;
  Recorder recorder(config, {flags.out, occupied}, progress);
  const train::RunResult result = train::run_training(config, *task, recorder.observer());
  progress.finish();
  recorder.draw();
  if (!result.by_points.empty()) {
    recorder.folder().write(
        "by_points.png",
        report::draw_curve(points_plot(result.by_points, config.task.name), report::Format::kPng));
  }

  const std::string run = recorder.folder().path().string();
  const nlohmann::ordered_json document = run_document(run, config, result, notes);
  recorder.folder().write("result.json", document_text(document));
  recorder.folder().write("report.html", run_page(recorder.folder()));
  tell_ending(result, run);
  if (flags.json) {
    print_json(document);
  } else {
    print(summary(config, result, run, recorder.attention(), recorder.study()));
  }
  return exit_code(result);
}

}  // namespace

void add_train(CLI::App& program, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* verb =
      program.add_subcommand("train", "Train a model, test it on held-out data, write a run with heatmaps");
  add_source_flags(*verb, flags->run);
  add_setting_flags(*verb, flags->run, [](const train::Setting&) { return true; });
  verb->add_option("--out", flags->out, "Folder of the run; runs/TASK-NNN unless given")->type_name("DIR");
  verb->add_flag("--overwrite", flags->overwrite, "Replace the run that is in --out");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress and no notes");
  verb->footer(
      fmt::format("Examples:\n  {0} train reverse\n  {0} train sort --n-heads 4 --steps 1000 --json\n"
                  "  {0} train text --file book.txt --preset text-small",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return train_run(*flags); }; });
}

}  // namespace headtorch::cli
