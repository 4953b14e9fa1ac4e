#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/cli/choices.hpp"
#include "src/cli/new_folder.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/run_flags.hpp"
#include "src/cli/scale_results.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "src/core/log.hpp"
#include "train/scale_grid.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostSteps = 300, kMostSeeds = 32, kMostSamples = 1'000'000;

struct ScaleFlags {
  RunFlags run;
  std::string samples, rates, seeds, formats = "png,svg,csv,json", out;
  CLI::Option *has_rates = nullptr, *has_seeds = nullptr;
  bool json = false, quiet = false;

  bool trains() const { return !run.task.empty() || !run.preset.empty() || !run.config_file.empty(); }
};

/// Settings that the grid varies itself, or that only matter to a run folder.
const std::set<std::string_view> kLeftOut = {
    "score",        "scale",      "lr",       "bandwidth",     "kernel_slope",    "kernel_offset",
    "eval_lengths", "eval_every", "patience", "heatmap_every", "checkpoint_every"};

std::set<std::string> formats_of(const std::string& text) {
  static const std::vector<std::string_view> allowed = {"png", "svg", "csv", "json"};
  std::set<std::string> formats;
  for (const std::string_view name : train::split_at_commas(text)) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      refuse_choice("--format", name, allowed);
    formats.emplace(name);
  }
  return formats;
}

/// Without a task there is nothing that these flags could set.
void refuse_lone_settings(const ScaleFlags& flags) {
  const auto refuse = [](const CLI::Option& option) {
    throw UsageError(option.get_name(), "is of the trainings of a grid, expected --train TASK beside it");
  };
  for (const auto& [name, option] : flags.run.options) {
    if (name != "seed" && option->count() > 0) refuse(*option);
  }
  for (const CLI::Option* option : {flags.has_rates, flags.has_seeds}) {
    if (option->count() > 0) refuse(*option);
  }
}

train::RunConfig config_of(const ScaleFlags& flags) {
  if (flags.trains()) {
    return resolve(flags.run, [](train::RunConfig& config) {
      config.train.steps = std::min(config.train.steps, kMostSteps);
    });
  }
  refuse_lone_settings(flags);
  train::RunConfig config;
  if (flags.run.options.at("seed")->count() > 0) train::set_flag("seed", flags.run.texts.at("seed"), config);
  return config;
}

ScaleGridResults run_grid(const train::RunConfig& config, const train::ScaleGridOptions& options,
                          bool quiet) {
  catch_interrupts();
  Progress progress(progress_style(quiet), 1);
  ScaleGridResults results{
      .task = config.task.name,
      .steps = config.train.steps,
      .n_seeds = options.n_seeds,
      .seed = config.train.seed,
      .grid = train::train_scale_grid(config, options,
                                      [&](std::int64_t done, std::int64_t of, const std::string& name) {
                                        progress.piece(done, of, name);
                                      })};
  progress.finish();
  results.verdict = probe::judge_scale(results.grid);
  return results;
}

void write_files(const ScaleResults& results, const std::set<std::string>& formats, NewFolder& folder) {
  for (const auto& [name, format] :
       {std::pair{"png", report::Format::kPng}, std::pair{"svg", report::Format::kSvg}}) {
    if (!formats.contains(name)) continue;
    folder.write(fmt::format("scale.{}", name), report::draw_panels(scale_panels(results), format));
    if (results.grid)
      folder.write(fmt::format("grid.{}", name), report::draw_panels(grid_panels(*results.grid), format));
  }
  if (formats.contains("csv")) {
    folder.write("scale.csv", scale_csv(results));
    folder.write("temperature.csv", temperature_csv(results));
    if (results.grid) folder.write("grid.csv", grid_csv(*results.grid));
  }
  if (formats.contains("json")) folder.write("result.json", document_text(scale_document(results)));
}

ExitCode run_scale(const ScaleFlags& flags) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  const std::set<std::string> formats = formats_of(flags.formats);
  probe::ScaleStudyOptions study;
  probe::TemperatureOptions temperature;
  train::ScaleGridOptions grid;
  if (!flags.samples.empty()) study.samples = whole_number("--samples", flags.samples, 2, kMostSamples);
  const train::RunConfig config = config_of(flags);
  if (!flags.rates.empty()) grid.rates = positive_numbers("--rates", flags.rates);
  std::sort(grid.rates.begin(), grid.rates.end());
  if (!flags.seeds.empty()) grid.n_seeds = whole_number("--seeds", flags.seeds, 1, kMostSeeds);
  if (flags.trains()) train::check_scale_grid(config, grid);
  study.seed = temperature.seed = static_cast<std::uint64_t>(config.train.seed);
  temperature.samples = std::min(temperature.samples, study.samples);

  NewFolder folder("scale", flags.out);
  ScaleResults results;
  results.seed = study.seed;
  results.samples = study.samples;
  results.temperature_samples = temperature.samples;
  if (flags.trains()) results.grid = run_grid(config, grid, flags.quiet);
  results.points = probe::study_scale(study);
  results.temperature = probe::study_temperature(temperature);
  for (const probe::NumberFormat& format : probe::number_formats())
    results.limits.push_back(probe::find_softmax_limits(format));
  write_files(results, formats, folder);

  if (flags.json) {
    nlohmann::ordered_json document = scale_document(results);
    document["folder"] = folder.path().string();
    document["files"] = folder.names();
    print_json(document);
    return ExitCode::kDone;
  }
  std::string text = scale_text(results);
  if (results.grid) text += "\n" + grid_text(*results.grid);
  text += fmt::format("\nWritten: {} ({})\n", folder.path().string(), fmt::join(folder.names(), ", "));
  text += results.grid
              ? fmt::format("Next: {} train {} --scale learned\n", command_name(), results.grid->task)
              : fmt::format("Next: {} scale --train reverse\n", command_name());
  print(text);
  return ExitCode::kDone;
}

}  // namespace

void add_scale(CLI::App& program, Action& action) {
  auto flags = std::make_shared<ScaleFlags>();
  CLI::App* verb = program.add_subcommand(
      "scale", "Why scores are divided by sqrt(d), and what that has to do with the rate");
  verb->add_option("--samples", flags->samples, "Rows drawn for each width (2000)")->type_name("N");
  verb->add_option("--train", flags->run.task,
                   "Also train this task at each scale (none, sqrt, learned) and learning rate, see `tasks`")
      ->type_name("TASK");
  flags->has_rates = verb->add_option("--rates", flags->rates,
                                      "Peak learning rates of the grid (1e-5 to 1e-1 in nine steps)")
                         ->type_name("LIST");
  flags->has_seeds =
      verb->add_option("--seeds", flags->seeds, "Trainings of each cell; from 4 on there is an interval (3)")
          ->type_name("N");
  add_file_flags(*verb, flags->run);
  add_setting_flags(*verb, flags->run,
                    [](const train::Setting& setting) { return !kLeftOut.contains(setting.name); });
  verb->add_option("--format", flags->formats, "png, svg, csv, json; several with commas (all)")
      ->type_name("LIST");
  verb->add_option("--out", flags->out, "New folder for the files; runs/scale-NNN unless given")
      ->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress and no notes");
  verb->footer(
      fmt::format("Examples:\n  {0} scale\n  {0} scale --samples 10000 --seed 2 --format svg --out figures\n"
                  "  {0} scale --train reverse --steps 200 --rates 1e-4,1e-3,1e-2 --seeds 4",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return run_scale(*flags); }; });
}

}  // namespace headtorch::cli
