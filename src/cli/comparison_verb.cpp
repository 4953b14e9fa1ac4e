#include "src/cli/comparison_verb.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "src/cli/comparison_files.hpp"
#include "src/cli/documents.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/run_flags.hpp"
#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "src/core/log.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "train/row_contest.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostSteps = 700, kMostSeeds = 32;
// An example of rows has up to 256 tokens; with these a comparison of some 1,000 rows takes minutes.
constexpr std::int64_t kMostRowSteps = 200, kMostRowBatch = 4, kMostRows = 1'000'000;

struct ComparisonFlags {
  RunFlags run;
  std::string seeds, bandwidths, match = "steps", out, sizes, season;
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
  if (!train::is_of_rows(config.task.name)) return;
  config.train.steps = std::min(config.train.steps, kMostRowSteps);
  if (config.task.name == "table" || config.task.attend == tasks::Attend::kRows)
    config.train.batch = std::min(config.train.batch, kMostRowBatch);
}

/// Numbers of rows, ascending.
std::vector<std::int64_t> sizes_of(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const double size : positive_numbers("--sizes", text)) {
    if (size != std::floor(size) || size > static_cast<double>(kMostRows))
      throw ConfigError("--sizes", fmt::format("{:g} is not allowed, expected whole numbers of rows", size));
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

/// The metric at each size, and who is ahead.
std::string sizes_table(const train::Comparison& comparison) {
  report::Table table;
  table.headers = {"model"};
  table.align = {report::Align::kLeft};
  for (const probe::SizePoint& point : comparison.sizes) {
    table.headers.push_back(fmt::format("{} rows", point.n));
    table.align.push_back(report::Align::kRight);
  }
  // Chosen kernels and what references chose differ in name from size to size, not in place.
  const std::vector<probe::ComparisonRow>& last = comparison.sizes.back().rows;
  for (std::size_t i = 0; i < last.size(); ++i) {
    table.rows.push_back({last[i].name});
    for (const probe::SizePoint& point : comparison.sizes) {
      table.rows.back().push_back(
          i < point.rows.size() ? report::readable(probe::summarise(point.rows[i].values).mean) : "-");
    }
  }
  return report::to_text(table);
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
    case probe::RowKind::kReference:
      return "reference";
    case probe::RowKind::kReplaced:
      return "replaced";
  }
  return {};
}

std::string range(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? fmt::format("{} .. {}", report::readable(*low), report::readable(*high)) : "-";
}

std::string table(const train::Comparison& comparison) {
  using report::Align;
  report::Table table;
  table.headers = {"kind",  "model", "heads",      "layers",        "parameters",
                   "steps", "mean",  "min .. max", "95 % interval", "seconds"};
  table.align.assign(table.headers.size(), Align::kRight);
  table.align[0] = table.align[1] = Align::kLeft;
  for (const probe::ComparisonRow& row : comparison.rows) {
    const probe::Summary summary = probe::summarise(row.values);
    table.rows.push_back({kind_heading(row.kind), row.name, std::to_string(row.n_heads),
                          std::to_string(row.n_layers), std::to_string(row.parameters),
                          std::to_string(row.steps), report::readable(summary.mean),
                          range(summary.min, summary.max), range(summary.low, summary.high),
                          report::readable(row.seconds, 3)});
  }
  return report::to_text(table);
}

/// "reverse: token_accuracy, 4 seeds after 700 steps".
std::string heading(const train::RunConfig& config, const ComparisonFlags& flags, std::int64_t n_seeds,
                    const probe::ComparisonMetric& metric) {
  return fmt::format("{}: {}{}, {} after {}{}", config.task.name, metric.name,
                     metric.unit.empty() ? "" : ", " + metric.unit, report::counted(n_seeds, metric.sample),
                     report::counted(config.train.steps, "step"),
                     flags.match == "steps" ? "" : ", equal " + flags.match);
}

std::string summary(const train::RunConfig& config, const std::string& head,
                    const train::Comparison& comparison) {
  std::string text = head + "\n\n" + table(comparison);
  text += fmt::format("\n{}\n\n{}\n", comparison.verdict.reason, comparison.verdict.verdict);
  if (!comparison.sizes.empty())
    text += fmt::format("\n{}\n{}\n", sizes_table(comparison), comparison.overtaking);
  std::string asked = config.task.file.empty() ? "" : " --file " + config.task.file;
  if (!config.task.column.empty()) asked += " --column " + config.task.column;
  if (!config.task.target.empty()) asked += " --target " + config.task.target;
  return text + fmt::format("\nNext: {} train {}{}\n", command_name(), config.task.name, asked);
}

train::Match match_of(const std::string& text) {
  if (text == "steps") return train::Match::kSteps;
  if (text == "parameters") return train::Match::kParameters;
  if (text == "operations") return train::Match::kOperations;
  throw UsageError("--match",
                   fmt::format("\"{}\", expected steps, parameters or operations", one_line(text)));
}

ExitCode run_comparison(ComparisonFlags flags, train::Rows rows) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  train::ComparisonOptions options;
  options.rows = rows;
  options.match = match_of(flags.match);
  std::optional<store::RunFolder> run = run_meant(flags.run);
  if (run && !flags.out.empty()) {
    throw UsageError("--out",
                     fmt::format("is given beside the run {}, into which a comparison of it is written",
                                 one_line(run->path().string())));
  }
  const train::RunConfig config = resolve(flags.run, shorten);
  train::check(config);
  if (!flags.seeds.empty()) options.n_seeds = whole_number("--seeds", flags.seeds, 1, kMostSeeds);
  if (!flags.bandwidths.empty()) options.bandwidths = positive_numbers("--bandwidth", flags.bandwidths);
  if (!flags.sizes.empty()) options.sizes = sizes_of(flags.sizes);
  if (!flags.season.empty()) options.season = whole_number("--season", flags.season, 1, kMostRows);
  options.screen_steps = std::min(options.screen_steps, config.train.steps);
  ComparisonFiles files(std::move(run), flags.out, config.task.name);

  catch_interrupts();
  Progress progress(progress_style(flags.quiet), 1);
  const train::Comparison comparison = train::compare(
      config, options,
      [&](std::int64_t done, std::int64_t of, const std::string& name) { progress.piece(done, of, name); });
  progress.finish();
  const nlohmann::ordered_json document = comparison_document(config, comparison, flags.match);
  const std::string head = heading(config, flags, options.n_seeds, comparison.metric);
  const std::string written = files.write(document, comparison, head);
  if (flags.json) {
    print_json(document);
  } else {
    print(summary(config, head, comparison) + written);
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
  verb->add_option("--sizes", flags->sizes,
                   "Once more with so many training rows each, such as 50,100,200 (table, series)")
      ->type_name("LIST");
  verb->add_option("--season", flags->season,
                   "Steps of a season, for the last value a season before (series; auto: the best lag)")
      ->type_name("N");
  if (about.rows == train::Rows::kAll) {
    verb->add_option(
            "--match", flags->match,
            "What rows have in common: steps; parameters: feed-forwards widened to the full model's number; "
            "operations: more steps where a step costs less (steps)")
        ->type_name("WHAT");
  }
  verb->add_option("--out", flags->out, "New folder for result.json, compare.png and compare.svg")
      ->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress and no notes");
  verb->footer(about.footer);
  verb->callback([flags, &action, rows = about.rows] {
    action = [flags, rows] { return run_comparison(*flags, rows); };
  });
}

}  // namespace headtorch::cli
