#include "src/cli/comparison_verb.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "src/cli/documents.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/run_flags.hpp"
#include "src/core/log.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostSteps = 700, kMostSeeds = 32;

struct ComparisonFlags {
  RunFlags run;
  std::string seeds, bandwidths;
  bool json = false, quiet = false;
};

/// Settings that a comparison varies itself, or that only matter to a run folder.
const std::set<std::string_view> kLeftOut = {
    "score", "scale", "bandwidth", "kernel_slope", "kernel_offset", "heatmap_every", "checkpoint_every"};

/// A short budget and no dropout, which would blur what a kernel can do; preset, file and flags may ask
/// otherwise.
void shorten(train::RunConfig& config) {
  config.train.steps = std::min(config.train.steps, kMostSteps);
  config.model.dropout = 0.0;
  config.model.attention.attention_dropout = 0.0;
}

std::string kind_heading(probe::RowKind kind) {
  switch (kind) {
    case probe::RowKind::kNoMixing:
      return "no mixing";
    case probe::RowKind::kGeneric:
      return "generic kernel";
    case probe::RowKind::kShaped:
      return "shaped kernel";
    case probe::RowKind::kLearned:
      return "learned";
  }
  return {};
}

std::string range(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format("{} .. {}", report::readable(*low), report::readable(*high)) : "-";
}

std::string table(const train::Comparison& comparison) {
  using report::Align;
  report::Table table;
  table.headers = {"kind", "model",      "heads",         "layers", "parameters",
                   "mean", "min .. max", "95 % interval", "seconds"};
  table.align = {Align::kLeft,  Align::kLeft,  Align::kRight, Align::kRight, Align::kRight,
                 Align::kRight, Align::kRight, Align::kRight, Align::kRight};
  for (const probe::ComparisonRow& row : comparison.rows) {
    const probe::Summary summary = probe::summarise(row.values);
    table.rows.push_back({kind_heading(row.kind), row.name, std::to_string(row.n_heads),
                          std::to_string(row.n_layers), std::to_string(row.parameters),
                          report::readable(summary.mean), range(summary.min, summary.max),
                          range(summary.low, summary.high), report::readable(row.seconds, 3)});
  }
  return report::to_text(table);
}

std::string summary(const train::RunConfig& config, std::int64_t n_seeds,
                    const train::Comparison& comparison) {
  const probe::ComparisonMetric& metric = comparison.metric;
  std::string text =
      fmt::format("{}: {}{}, {} after {}\n\n", config.task.name, metric.name,
                  metric.unit.empty() ? "" : ", " + metric.unit, report::counted(n_seeds, "seed"),
                  report::counted(config.train.steps, "step"));
  text += table(comparison);
  text += fmt::format("\n{}\n\n{}\n", comparison.verdict.reason, comparison.verdict.verdict);
  const std::string file = config.task.file.empty() ? "" : " --file " + config.task.file;
  return text + fmt::format("\nNext: {} train {}{}\n", command_name(), config.task.name, file);
}

ExitCode run_comparison(const ComparisonFlags& flags, train::Rows rows) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  train::RunConfig config = resolve(flags.run, shorten);
  train::check(config);
  train::ComparisonOptions options;
  options.rows = rows;
  if (!flags.seeds.empty()) options.n_seeds = whole_number("--seeds", flags.seeds, 1, kMostSeeds);
  if (!flags.bandwidths.empty()) options.bandwidths = positive_numbers("--bandwidth", flags.bandwidths);
  options.screen_steps = std::min(options.screen_steps, config.train.steps);

  Progress progress(progress_style(flags.quiet), 1);
  const train::Comparison comparison = train::compare(
      config, options,
      [&](std::int64_t done, std::int64_t of, const std::string& name) { progress.piece(done, of, name); });
  progress.finish();
  if (flags.json) {
    print_json(comparison_document(config, comparison));
  } else {
    print(summary(config, options.n_seeds, comparison));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_comparison_verb(CLI::App& program, Action& action, const ComparisonVerb& about) {
  auto flags = std::make_shared<ComparisonFlags>();
  CLI::App* verb = program.add_subcommand(about.name, about.description);
  add_source_flags(*verb, flags->run);
  add_setting_flags(*verb, flags->run,
                    [](const train::Setting& setting) { return !kLeftOut.contains(setting.name); });
  verb->add_option("--seeds", flags->seeds, "Trainings of each model; from 4 on there is an interval (4)")
      ->type_name("N");
  verb->add_option("--bandwidth", flags->bandwidths,
                   "Bandwidths of the generic kernels to try in place of the usual ones, such as 0.5,1,2")
      ->type_name("LIST");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress and no notes");
  verb->footer(about.footer);
  verb->callback([flags, &action, rows = about.rows] {
    action = [flags, rows] { return run_comparison(*flags, rows); };
  });
}

}  // namespace headtorch::cli
