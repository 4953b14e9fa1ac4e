#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "src/cli/choices.hpp"
#include "src/cli/missing.hpp"
#include "src/cli/new_folder.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/regress_demo.hpp"
#include "src/cli/regress_learn.hpp"
#include "src/cli/regression_document.hpp"
#include "src/cli/regression_figures.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/log.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace {

using regress::Choice;

struct RegressFlags {
  std::string file, sweep, x, y, categories, method = "constant", kernel = "gaussian", bandwidth = "cv",
                                             missing = "refuse", formats = "png,svg,csv", out, seeds;
  bool demo = false, learn = false, json = false, quiet = false;
};

constexpr std::array<std::pair<std::string_view, regress::Degree>, 2> kMethods = {
    {{"constant", regress::Degree::kConstant}, {"linear", regress::Degree::kLinear}}};
constexpr std::array<std::pair<std::string_view, regress::Kernel>, 4> kKernels = {
    {{"gaussian", regress::Kernel::kGaussian},
     {"exponential", regress::Kernel::kExponential},
     {"epanechnikov", regress::Kernel::kEpanechnikov},
     {"box", regress::Kernel::kBox}}};

std::vector<std::string> column_names(std::string_view flag, std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (const std::string_view name : train::split_at_commas(text)) {
    if (name.empty()) throw UsageError(flag, fmt::format("\"{}\" names a column without a name", text));
    names.emplace_back(name);
  }
  return names;
}

/// LOW:HIGH:N.
regress::Sweep sweep_of(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos)
    throw UsageError("--bandwidth",
                     fmt::format("sweep \"{}\" cannot be read, expected sweep LOW:HIGH:N", text));
  constexpr std::int64_t kMostPoints = 100'000;
  const regress::Sweep sweep{real_number("--bandwidth", text.substr(0, first)),
                             real_number("--bandwidth", text.substr(first + 1, second - first - 1)),
                             whole_number("--bandwidth", text.substr(second + 1), 2, kMostPoints)};
  if (!(sweep.low > 0.0 && sweep.low < sweep.high))
    throw ConfigError("--bandwidth", fmt::format("sweep {}: expected 0 < LOW < HIGH", text));
  return sweep;
}

struct Way {
  std::string_view name;
  Choice choice;
  std::string_view meaning;  ///< for people
};
constexpr Way kWays[] = {{"cv", Choice::kCrossValidation, "least leave-one-out error"},
                         {"aicc", Choice::kAicc, "least AICc"},
                         {"rot", Choice::kRuleOfThumb, "rule of thumb"},
                         {"plug-in", Choice::kPlugIn, "plug-in"},
                         {"sweep", Choice::kSweep, "the best of a sweep"}};

/// Reads --bandwidth into `request`; "sweep LOW:HIGH:N" may come as one argument or as two.
std::string_view read_bandwidth(const RegressFlags& flags, regress::BandwidthRequest& request) {
  std::string_view way = flags.bandwidth, range = flags.sweep;
  if (const std::size_t blank = way.find(' '); blank != std::string_view::npos && range.empty()) {
    range = way.substr(blank + 1);
    way = way.substr(0, blank);
  }
  if (!range.empty() && way != "sweep")
    throw UsageError("regress", fmt::format("\"{}\" is one argument too many", range));
  for (const Way& known : kWays) {
    if (known.name != way) continue;
    request.choice = known.choice;
    if (known.choice == Choice::kSweep) request.sweep = sweep_of(range);
    return known.meaning;
  }
  const std::string_view first = way.substr(0, way.find(','));
  if (train::parse_real(first).fault == train::NumberFault::kUnreadable)
    refuse_choice("--bandwidth", way, {"cv", "aicc", "rot", "plug-in", "sweep LOW:HIGH:N", "numbers"});
  request.choice = Choice::kGiven;
  for (const std::string_view part : train::split_at_commas(way))
    request.given.push_back(real_number("--bandwidth", part));
  return "given";
}

std::string file_name(const table::Table& table) {
  return std::filesystem::path(table.name).filename().string();
}

ExitCode run_regress(const RegressFlags& flags) {
  start_log(flags.quiet ? LogLevel::kQuiet : LogLevel::kNormal);
  if (flags.demo) {
    if (!flags.file.empty() || !flags.x.empty() || !flags.y.empty())
      throw UsageError("--demo", "brings its own data, expected no FILE, --x or --y");
    return run_regress_demo({flags.out, regression_formats(flags.formats), flags.json});
  }
  if (flags.file.empty()) throw UsageError("FILE", "is missing, expected a CSV file");
  if (flags.x.empty()) throw UsageError("--x", "is missing, expected the columns to predict from");
  if (flags.y.empty()) throw UsageError("--y", "is missing, expected the column to predict");
  if (flags.learn && (flags.method != "constant" || flags.kernel != "gaussian" || flags.bandwidth != "cv"))
    throw UsageError("--learn",
                     "holds against a Gaussian kernel with its cross-validated bandwidth, expected no "
                     "--method, --kernel or --bandwidth");
  if (!flags.learn && !flags.seeds.empty()) throw UsageError("--seeds", "is for --learn");
  const regress::Smoother smoother{choose("--kernel", flags.kernel, kKernels),
                                   choose("--method", flags.method, kMethods)};
  const std::vector<RegressionFormat> formats = regression_formats(flags.formats);
  regress::BandwidthRequest request;
  const std::string_view way = read_bandwidth(flags, request);
  const table::Table table = table::read_table(flags.file);
  const RegressionTable data =
      regression_table(table, {.x = column_names("--x", flags.x),
                               .y = flags.y,
                               .categories = column_names("--category", flags.categories),
                               .missing = choose("--missing", flags.missing, kMissing)});
  if (!table.has_header) spdlog::info("note: {} has no header, its columns are called 1, 2, ...", table.name);

  if (flags.learn) {
    constexpr std::int64_t kUsualSeeds = 4, kMostSeeds = 32;
    return run_regress_learn(
        {.file = file_name(table),
         .table = data,
         .seeds = flags.seeds.empty() ? kUsualSeeds : whole_number("--seeds", flags.seeds, 1, kMostSeeds),
         .formats = formats,
         .out = flags.out,
         .output = flags.json ? Output::kJson : Output::kText});
  }
  NewFolder folder("regress", flags.out);
  RegressionReport report = report_regression(data, smoother, request);
  report.file = file_name(table);
  report.choice = way;
  nlohmann::ordered_json document = regression_document(report);
  folder.write(kRegressionFile, regression_file(report.model));
  folder.write("result.json", document_text(document));
  for (const auto& [name, bytes] : regression_files(report, formats)) folder.write(name, bytes);
  if (flags.json) {
    document["out"] = folder.path().string();
    print_json(document);
    return ExitCode::kDone;
  }
  print(regression_summary(report));
  print(fmt::format("\nWritten: {}\nNext: {} predict {} NEW.csv\n", folder.path().string(), command_name(),
                    folder.path().string()));
  return ExitCode::kDone;
}

}  // namespace

void add_regress(CLI::App& program, Action& action) {
  auto flags = std::make_shared<RegressFlags>();
  CLI::App* verb = program.add_subcommand(
      "regress", "Kernel regression on a CSV file: does averaging by similarity help?");
  verb->add_option("FILE", flags->file, "CSV file; the first line names its columns")->type_name("");
  verb->add_option("LOW:HIGH:N", flags->sweep, "Only behind --bandwidth sweep")->type_name("");
  verb->add_option("--x", flags->x, "Columns to predict from: numbers, dates (YYYY-MM-DD) or words")
      ->type_name("COL[,COL]");
  verb->add_option("--y", flags->y, "Column to predict; of words: the probability of each")->type_name("COL");
  verb->add_option("--category", flags->categories, "Columns of numbers that are names of classes")
      ->type_name("COL[,COL]");
  verb->add_option("--method", flags->method, "constant: Nadaraya-Watson; linear: a local line (constant)")
      ->type_name("METHOD");
  verb->add_option("--kernel", flags->kernel, "gaussian, exponential, epanechnikov or box (gaussian)")
      ->type_name("KERNEL");
  verb->add_option("--bandwidth", flags->bandwidth,
                   "cv: least leave-one-out error; aicc; rot: rule of thumb; plug-in; sweep LOW:HIGH:N; or "
                   "numbers, one "
                   "a column (cv)")
      ->type_name("H");
  verb->add_option("--missing", flags->missing, "Rows with missing cells: refuse or drop (refuse)")
      ->type_name("WHAT");
  verb->add_flag("--learn", flags->learn,
                 "Learn the kernel as well, in several ways, and compare (docs/learned_kernels.md)");
  verb->add_option("--seeds", flags->seeds, "Of --learn: splits and starting weights (4)")->type_name("N");
  verb->add_option("--format", flags->formats, "png, svg, csv, npy; several with commas (png,svg,csv)")
      ->type_name("LIST");
  verb->add_option("--out", flags->out, "New folder; runs/regress-NNN unless given")->type_name("DIR");
  verb->add_flag(
      "--demo", flags->demo,
      "Show it on a noisy sine: three bandwidths, bandwidth as temperature, four choices, dot products");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No notes");
  verb->footer(
      fmt::format("Examples:\n  {0} regress data.csv --x age --y wage\n"
                  "  {0} regress data.csv --x age,sex --y wage --category sex --method linear\n"
                  "  {0} regress data.csv --x age --y wage --bandwidth sweep 0.5:8:40",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return run_regress(*flags); }; });
}

}  // namespace headtorch::cli
