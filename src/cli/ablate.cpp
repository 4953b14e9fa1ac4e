#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "src/cli/ablation_document.hpp"
#include "src/cli/choices.hpp"
#include "src/cli/files.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/recorder.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/interrupt.hpp"
#include "src/core/log.hpp"
#include "src/report/figures.hpp"
#include "src/report/text.hpp"
#include "train/ablation.hpp"
#include "train/head_study.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMostExamples = 1'000'000;
constexpr std::int64_t kSamplesSaved = 4;
constexpr std::array<std::string_view, 4> kFormats = {"csv", "json", "png", "svg"};

struct AblateFlags {
  std::string run, examples, step, formats = "csv,png", out, save;
  bool retrain_one_head = false, json = false, quiet = false;
};

std::set<std::string_view> formats_of(std::string_view text) {
  std::set<std::string_view> formats;
  for (const std::string_view name : train::split_at_commas(text)) {
    if (std::find(kFormats.begin(), kFormats.end(), name) == kFormats.end()) {
      refuse_choice("--format", name, {kFormats.begin(), kFormats.end()});
    }
    formats.insert(name);
  }
  return formats;
}

/// The model whose heads are all kernels, as a run of its own.
class SavedModel {
 public:
  SavedModel(const StoredRun& run, const std::vector<probe::HeadReport>& heads, const fs::path& place,
             Progress& progress)
      : config_(train::with_nearest_kernels(run.config, heads)),
        recorder_(config_, {place, store::Occupied::kRefuse}, progress) {
    const train::RunObserver observer = recorder_.observer();
    observer.on_checkpoint(run.step, {{"model.safetensors", run.model}});
    observer.on_attention(train::record_attention(config_, *run.task, run.model,
                                                  train::default_inputs(*run.task, kSamplesSaved), run.step));
    recorder_.draw();
  }

  /// Reads it back and measures it.
  nlohmann::ordered_json measure(const StoredRun& from, std::int64_t examples) {
    const StoredRun saved = load_run(folder(), "");
    nlohmann::ordered_json document = {{"run", folder()},
                                       {"from", from.folder.path().string()},
                                       {"step", saved.step},
                                       {"test", results_document(train::measure_examples(
                                                    saved.config, *saved.task, saved.model, examples))}};
    recorder_.folder().write("result.json", document_text(document));
    return document;
  }

  std::string folder() { return recorder_.folder().path().string(); }

 private:
  train::RunConfig config_;
  Recorder recorder_;
};

fs::path folder_of(const AblateFlags& flags, const StoredRun& run) {
  if (!flags.out.empty()) return flags.out;
  const fs::path folder = run.folder.path() / "ablation";
  return flags.step.empty() ? folder : folder / store::step_name(run.step);
}

/// The measured heads, for people and for programs.
struct Told {
  probe::AblationReport report;
  nlohmann::ordered_json document;
};

void write_files(const std::string& formats_text, const std::string& title, const Told& told, Files& files) {
  const probe::AblationReport& report = told.report;
  const auto picture = [&](report::Format format) {
    return report::draw_curve(greedy_plot(report, title), format);
  };
  const std::set<std::string_view> formats = formats_of(formats_text);
  const bool has_curve = !report.greedy.empty();
  if (formats.contains("csv")) files.write("heads.csv", ablation_csv(report));
  if (formats.contains("csv") && has_curve) files.write("removal.csv", greedy_csv(report));
  if (formats.contains("png") && has_curve) files.write("removal.png", picture(report::Format::kPng));
  if (formats.contains("svg") && has_curve) files.write("removal.svg", picture(report::Format::kSvg));
  if (formats.contains("json")) files.write("ablation.json", document_text(told.document));
}

std::vector<probe::HeadReport> nearest_kernels(const StoredRun& run, const AblateFlags& flags) {
  const Waiting waiting(progress_style(flags.quiet || flags.json), "fitting kernels to the heads");
  return train::study_heads(run.config, *run.task, run.model, run.step).heads;
}

std::string one_head_text(const train::OneHead& one) {
  const probe::Score& loss = one.change.loss;
  return fmt::format(
      "\nTrained again with one head a layer ({} parameters, one seed): loss {}, {} of positions right; loss "
      "{:+.3f} "
      "({:+.3f} to {:+.3f})\n",
      one.result.parameters, report::readable(one.examples.mean_loss(), 3),
      report::readable(one.examples.token_accuracy(), 4), loss.value, loss.low, loss.high);
}

std::string summary(const AblateFlags& flags, const probe::AblationReport& report,
                    const std::optional<train::OneHead>& one_head, const nlohmann::ordered_json& document) {
  std::string text = ablation_text(report);
  if (one_head) text += one_head_text(*one_head);
  if (document.contains("saved")) {
    const auto& test = document["saved"]["test"];
    const auto text_of = [&](const char* key) {
      return test[key].is_null() ? "-" : report::readable(test[key].get<double>());
    };
    text +=
        fmt::format("\nSaved with every head replaced by its kernel: {} (loss {}, {} of positions right)\n",
                    document["saved"]["run"].get<std::string>(), text_of("loss"), text_of("token_accuracy"));
  }
  const auto n_files = static_cast<std::int64_t>(document["files"].size());
  if (n_files > 0) {
    text += fmt::format("\nWritten: {} in {}\n", report::counted(n_files, "file"),
                        fs::path(document["files"][0].get<std::string>()).parent_path().string());
  }
  if (flags.save.empty()) {
    text += fmt::format("Next: {0} ablate {1} --save runs/{2}-kernels\n", command_name(), flags.run,
                        fs::path(flags.run).filename().string());
  } else {
    text += fmt::format("Next: {0} heatmap {1}\n      {0} train --config {1}/config.toml\n", command_name(),
                        document["saved"]["run"].get<std::string>());
  }
  return text;
}

ExitCode ablate_run(const AblateFlags& flags) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  formats_of(flags.formats);
  train::AblationOptions options;
  if (!flags.examples.empty())
    options.examples = whole_number("--examples", flags.examples, 1, kMostExamples);
  const StoredRun run = load_run(flags.run, flags.step);
  if (flags.retrain_one_head && run.config.model.n_heads == 1) {
    throw ConfigError("--retrain-one-head", "the run has one head a layer already, expected several");
  }

  Files files(folder_of(flags, run));

  catch_interrupts();
  const std::vector<probe::HeadReport> heads = nearest_kernels(run, flags);
  Progress progress(progress_style(flags.quiet), 1);
  std::optional<SavedModel> saved;
  // First, so that a place that is taken is refused before the work.
  if (!flags.save.empty()) saved.emplace(run, heads, flags.save, progress);
  options.progress = [&](std::int64_t done, std::int64_t of, const std::string& name) {
    progress.piece(done, of, name, "passes");
  };
  Told told{train::ablate(run.config, *run.task, run.model, heads, options),
            {{"run", run.folder.path().string()}, {"step", run.step}}};
  const probe::AblationReport& report = told.report;
  nlohmann::ordered_json& document = told.document;
  progress.finish();

  document.update(ablation_document(report));
  std::optional<train::OneHead> one_head;
  if (flags.retrain_one_head) {
    Progress training(progress_style(flags.quiet), run.config.train.steps);
    train::RunObserver observer;
    observer.on_step = [&](const train::StepMetrics& metrics) { training.step(metrics); };
    one_head = train::train_one_head(run.config, *run.task, report.base, observer);
    training.finish();
    document["one_head"] = one_head_document(*one_head);
  }
  if (saved) document["saved"] = saved->measure(run, std::ssize(report.base.loss));
  write_files(flags.formats, run.config.task.name + ": heads removed one by one", told, files);
  document["files"] = files.paths();
  if (flags.json) {
    print_json(document);
  } else {
    print(summary(flags, report, one_head, document));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_ablate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<AblateFlags>();
  CLI::App* verb =
      program.add_subcommand("ablate", "What is lost when heads are removed, or replaced by fixed kernels");
  verb->add_option("RUN", flags->run, "Folder of a run, or its name under runs/")->required()->type_name("");
  verb->add_option("--examples", flags->examples,
                   "Test examples to measure on; unless given 1000, or fewer for long ones and many heads")
      ->type_name("N");
  verb->add_option("--step", flags->step, "After which training step (the last)")->type_name("S");
  verb->add_option("--save", flags->save,
                   "Write the model with every head replaced by its nearest kernel as a run of its own")
      ->type_name("DIR");
  verb->add_flag("--retrain-one-head", flags->retrain_one_head,
                 "Also train the same configuration with one head a layer");
  verb->add_option("--format", flags->formats, "csv, json, png, svg; several with commas (csv,png)")
      ->type_name("LIST");
  verb->add_option("--out", flags->out, "Folder for the files; RUN/ablation unless given")->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress");
  verb->footer(
      fmt::format("Examples:\n  {0} ablate runs/reverse-001\n"
                  "  {0} ablate reverse-001 --save runs/reverse-kernels\n"
                  "  {0} ablate induction-001 --retrain-one-head --json",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return ablate_run(*flags); }; });
}

}  // namespace headtorch::cli
