#include "train/predict.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>

#include "src/cli/choices.hpp"
#include "src/cli/json_number.hpp"
#include "src/cli/missing.hpp"
#include "src/cli/output.hpp"
#include "src/cli/regression_document.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/report/arrays.hpp"
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
  throw InputMissing(
      run, fmt::format("holds no {}, expected the folder that regress or train wrote", kRegressionFile));
}

/// What is said about the rows of a file, in both forms.
struct Answer {
  std::string csv;
  nlohmann::ordered_json document;
  std::int64_t rows = 0, dropped = 0;
};

bool is_training(const std::string& run) {
  std::error_code absent;
  return fs::exists(fs::path(run) / "config.toml", absent) ||
         fs::exists(fs::path("runs") / run / "config.toml", absent);
}

Answer by_training(const PredictFlags& flags, table::Missing missing) {
  const StoredRun run = load_run(flags.run, "");
  const train::RowPredictions predictions =
      train::predict_rows(run.config, run.model, table::read_table(flags.file), missing);
  Answer answer{
      fmt::format("line,{}\n", report::csv_field(predictions.target)), {}, std::ssize(predictions.lines)};
  nlohmann::ordered_json values = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < predictions.lines.size(); ++i) {
    answer.csv += fmt::format("{},{}\n", predictions.lines[i], predictions.values[i]);
    values.push_back(json_number(predictions.values[i]));
  }
  answer.document = {
      {"run", flags.run}, {"target", predictions.target}, {"lines", predictions.lines}, {"values", values}};
  return answer;
}

Answer by_regression(const PredictFlags& flags, table::Missing missing) {
  const fs::path file = regression_in(flags.run);
  const RegressionModel model = read_regression_file(read_file(file), file.string());
  const table::Table table = table::read_table(flags.file);
  const Predictions predictions = predict_at(model, places_in(table, model.x, missing));
  return {predictions_csv(model, predictions), predictions_document(model, predictions),
          std::ssize(predictions.places.lines), predictions.places.dropped};
}

ExitCode run_predict(const PredictFlags& flags) {
  const table::Missing missing = choose("--missing", flags.missing, kMissing);
  const Answer answer = is_training(flags.run) ? by_training(flags, missing) : by_regression(flags, missing);
  if (!flags.out.empty()) {
    if (fs::exists(flags.out)) throw CannotCreate(flags.out, "is there already, expected a new file");
    write_file(flags.out, answer.csv);
  }
  if (flags.json) {
    print_json(answer.document);
  } else if (flags.out.empty()) {
    print(answer.csv);
  } else {
    print(fmt::format("Written: {} ({}{})\n", flags.out, report::counted(answer.rows, "row"),
                      answer.dropped > 0 ? fmt::format(", {} left out", answer.dropped) : ""));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_predict(CLI::App& program, Action& action) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* verb = program.add_subcommand("predict", "Apply what was fitted or trained to new rows");
  verb->add_option("RUN", flags->run,
                   "Folder that regress or train (tasks series and table) wrote, or its name under runs/")
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
