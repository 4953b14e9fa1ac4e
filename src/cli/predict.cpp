#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>

#include "src/cli/choices.hpp"
#include "src/cli/missing.hpp"
#include "src/cli/output.hpp"
#include "src/cli/regression_document.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

struct PredictFlags {
  std::string run, file, missing = "refuse", out;
  bool json = false;
};

/// The regression of a folder, or of its name under runs/.
fs::path regression_in(const std::string& run) {
  std::error_code absent;
  for (const fs::path& folder : {fs::path(run), fs::path("runs") / run}) {
    if (fs::exists(folder / kRegressionFile, absent)) return folder / kRegressionFile;
  }
  throw InputMissing(run,
                     fmt::format("holds no {}, expected the folder that regress wrote", kRegressionFile));
}

ExitCode run_predict(const PredictFlags& flags) {
  const table::Missing missing = choose("--missing", flags.missing, kMissing);
  const fs::path file = regression_in(flags.run);
  const RegressionModel model = read_regression_file(read_file(file), file.string());
  const table::Table table = table::read_table(flags.file);
  const Predictions predictions = predict_at(model, places_in(table, model.x, missing));
  const std::string csv = predictions_csv(model, predictions);
  if (!flags.out.empty()) {
    if (fs::exists(flags.out)) throw CannotCreate(flags.out, "is there already, expected a new file");
    write_file(flags.out, csv);
  }
  if (flags.json) {
    print_json(predictions_document(model, predictions));
  } else if (flags.out.empty()) {
    print(csv);
  } else {
    print(fmt::format(
        "Written: {} ({}{})\n", flags.out, report::counted(std::ssize(predictions.places.lines), "row"),
        predictions.places.dropped > 0 ? fmt::format(", {} left out", predictions.places.dropped) : ""));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_predict(CLI::App& program, Action& action) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* verb = program.add_subcommand("predict", "Apply what was fitted or trained to new rows");
  verb->add_option("RUN", flags->run, "Folder that regress wrote, or its name under runs/")
      ->required()
      ->type_name("");
  verb->add_option("FILE", flags->file, "CSV file with the same columns to predict from")
      ->required()
      ->type_name("");
  verb->add_option("--missing", flags->missing, "Rows with missing cells: refuse or drop (refuse)")
      ->type_name("WHAT");
  verb->add_option("--out", flags->out, "New CSV file for the predictions; standard output unless given")
      ->type_name("FILE");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Example:\n  {} predict runs/regress-001 new.csv", command_name()));
  verb->callback([flags, &action] { action = [flags] { return run_predict(*flags); }; });
}

}  // namespace headtorch::cli
