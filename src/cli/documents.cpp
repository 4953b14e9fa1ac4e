#include "src/cli/documents.hpp"

#include <algorithm>
#include <cmath>

#include "headtorch_version.hpp"
#include "src/cli/json_number.hpp"
#include "src/cli/points_document.hpp"

namespace headtorch::cli {

using nlohmann::ordered_json;

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

const char* kind_name(probe::RowKind kind) {
  switch (kind) {
    case probe::RowKind::kNoMixing:
      return "no_mixing";
    case probe::RowKind::kGeneric:
      return "generic";
    case probe::RowKind::kShaped:
      return "shaped";
    case probe::RowKind::kLearned:
      return "learned";
    case probe::RowKind::kReference:
      return "reference";
    case probe::RowKind::kReplaced:
      return "replaced";
  }
  return "";
}

void add_accuracies(ordered_json& document, const train::Evaluation& evaluation) {
  document["loss"] = json_number(evaluation.loss);
  if (evaluation.r2) {
    document["rmse"] = json_number(evaluation.rmse);
    if (evaluation.mae) document["mae"] = json_number(evaluation.mae);
    if (evaluation.interval) {
      document["rmse_low"] = json_number(evaluation.interval->rmse_low);
      document["rmse_high"] = json_number(evaluation.interval->rmse_high);
      document["mae_low"] = json_number(evaluation.interval->mae_low);
      document["mae_high"] = json_number(evaluation.interval->mae_high);
    }
    document["r2"] = json_number(evaluation.r2);
  } else {
    document["token_accuracy"] = json_number(evaluation.token_accuracy);
    document["sequence_accuracy"] = json_number(evaluation.sequence_accuracy);
  }
  if (evaluation.best_loss) document["best_loss"] = json_number(evaluation.best_loss);
  if (evaluation.free_running_accuracy) {
    document["free_running_accuracy"] = json_number(*evaluation.free_running_accuracy);
    document["free_running_n"] = evaluation.free_running_n;
  }
}

/// Mean skill over seeds; null when the best possible is unknown or no mixing already reaches it.
ordered_json mean_skill(const probe::ComparisonRow& row, const probe::ComparisonRow* no_mixing,
                        const probe::ComparisonMetric& metric) {
  if (!no_mixing) return nullptr;
  const std::vector<double> skills = probe::skill(row, *no_mixing, metric);
  if (skills.empty()) return nullptr;
  return json_number(probe::summarise(skills).mean);
}

/// The row's values less those of `reference`, seed by seed, in the metric's own units; null for the
/// reference itself.
ordered_json difference(const probe::ComparisonRow& row, const probe::ComparisonRow* reference) {
  if (reference == nullptr || reference == &row) return nullptr;
  std::vector<double> values;
  for (std::size_t seed = 0; seed < row.values.size(); ++seed)
    values.push_back(row.values[seed] - reference->values[seed]);
  ordered_json document = {{"to", reference->name}};
  document.update(json_over_seeds(values));
  return document;
}

/// What rows are subtracted from: the learned model with the most heads and layers, without one uniform.
const probe::ComparisonRow* reference_of(const std::vector<probe::ComparisonRow>& rows) {
  const probe::ComparisonRow* reference = nullptr;
  for (const auto& row : rows) {
    const bool is_learned = row.kind == probe::RowKind::kLearned && row.score == "dot";
    if (is_learned || (row.score == "uniform" && reference == nullptr)) reference = &row;
  }
  return reference;
}

ordered_json row_document(const probe::ComparisonRow& row, const probe::ComparisonRow* no_mixing,
                          const probe::ComparisonMetric& metric) {
  ordered_json values = {{"name", metric.name}};
  values.update(json_over_seeds(row.values));
  ordered_json document = {{"name", row.name},
                           {"score", row.score.empty() ? ordered_json(nullptr) : ordered_json(row.score)},
                           {"kind", kind_name(row.kind)},
                           {"n_heads", row.n_heads},
                           {"n_layers", row.n_layers},
                           {"bandwidth", json_number(row.bandwidth)},
                           {"kernel_slope", json_number(row.kernel_slope)},
                           {"kernel_offset", json_number(row.kernel_offset)},
                           {"parameters", row.parameters},
                           {"seconds", json_number(row.seconds)},
                           {"skill", mean_skill(row, no_mixing, metric)},
                           {"metric", values},
                           {"steps", row.steps}};
  if (!row.mae.empty()) {
    document["metrics"] = {{metric.name, json_over_seeds(row.values)},
                           {"mae", json_over_seeds(row.mae)},
                           {"r2", json_over_seeds(row.r2)}};
  }
  return document;
}

/// Each row but no mixing, with its difference to the reference.
ordered_json rows_document(const std::vector<probe::ComparisonRow>& rows,
                           const probe::ComparisonRow* no_mixing, const probe::ComparisonMetric& metric) {
  const probe::ComparisonRow* reference = reference_of(rows);
  ordered_json table = ordered_json::array();
  for (const auto& row : rows) {
    if (&row == no_mixing) continue;
    table.push_back(row_document(row, no_mixing, metric));
    table.back()["difference"] = difference(row, reference);
  }
  return table;
}

const probe::ComparisonRow* no_mixing_of(const std::vector<probe::ComparisonRow>& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const probe::ComparisonRow& row) {
    return row.kind == probe::RowKind::kNoMixing;
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::string metrics_line(const train::StepMetrics& metrics) {
  const ordered_json line = {{"kind", "train"},
                             {"step", metrics.step},
                             {"loss", json_number(metrics.loss)},
                             {"lr", json_number(metrics.lr)},
                             {"grad_norm", json_number(metrics.grad_norm)},
                             {"clipped", metrics.clipped},
                             {"non_finite", metrics.non_finite},
                             {"tokens_per_second", json_number(metrics.tokens_per_second)},
                             {"wall_seconds", json_number(metrics.wall_seconds)}};
  return line.dump();
}

std::string evaluation_line(std::int64_t step, const train::Evaluation& evaluation, double wall_seconds) {
  ordered_json line = {{"kind", "eval"}, {"step", step}, {"n", evaluation.n}};
  add_accuracies(line, evaluation);
  if (evaluation.health) {
    line["score_sd"] = json_number(evaluation.health->score_sd);
    line["qk_share"] = json_number(evaluation.health->qk_share);
    line["entropy_normalised"] = json_number(evaluation.health->entropy_normalised);
  }
  line["wall_seconds"] = json_number(wall_seconds);
  return line.dump();
}

std::string ending_name(train::Ending ending) {
  switch (ending) {
    case train::Ending::kComplete:
      return "complete";
    case train::Ending::kInterrupted:
      return "interrupted";
    case train::Ending::kTerminated:
      return "terminated";
    case train::Ending::kDiverged:
      return "diverged";
  }
  return {};
}

ordered_json run_document(const std::string& run, const train::RunConfig& config,
                          const train::RunResult& result, const std::vector<std::string>& notes) {
  ordered_json test = {{"n", result.test.n}};
  add_accuracies(test, result.test);
  if (!result.by_points.empty()) test["by_points"] = points_document(result.by_points);
  ordered_json by_length = ordered_json::array();
  for (const train::LengthResult& at : result.by_length) {
    ordered_json line = {{"length", at.length}};
    if (at.test) {
      line["n"] = at.test->n;
      add_accuracies(line, *at.test);
    } else {
      line["why_not"] = at.why_not;
    }
    by_length.push_back(line);
  }
  return {
      {"run", run},
      {"task", config.task.name},
      {"parameters", result.parameters},
      {"steps", result.steps},
      {"seconds", json_number(result.seconds)},
      {"tokens_per_second", json_number(result.tokens_per_second)},
      {"threads", result.threads},
      {"device", result.device},
      {"test", test},
      {"by_length", by_length},
      {"stop_reason", result.stop_reason.empty() ? ordered_json(nullptr) : ordered_json(result.stop_reason)},
      {"ending", ending_name(result.ending)},
      {"seed", config.train.seed},
      {"engine", result.engine},
      {"attention_path", result.attention_path},
      {"estimated_mib", json_number(result.estimated_bytes / kMebibyte)},
      {"peak_rss_mib", json_number(result.peak_bytes / kMebibyte)},
      {"clipped_share", json_number(result.clipped_share)},
      {"non_finite_steps", result.non_finite_steps},
      {"initial_score_sd", json_number(result.initial_score_sd)},
      {"notes", notes},
      {"version", kVersion}};
}

ordered_json comparison_document(const train::RunConfig& config, const train::Comparison& comparison,
                                 std::string_view match) {
  const probe::ComparisonRow* no_mixing = no_mixing_of(comparison.rows);
  ordered_json screened = ordered_json::array();
  for (const auto& row : comparison.screened)
    screened.push_back(row_document(row, nullptr, comparison.metric));
  ordered_json document = {
      {"task", config.task.name},
      {"steps", config.train.steps},
      {"match", match},
      {"rows", rows_document(comparison.rows, no_mixing, comparison.metric)},
      {"best_possible", json_number(comparison.metric.best_possible)},
      {"no_mixing",
       no_mixing ? json_number(probe::summarise(no_mixing->values).mean) : ordered_json(nullptr)},
      {"no_mixing_row",
       no_mixing ? row_document(*no_mixing, no_mixing, comparison.metric) : ordered_json(nullptr)},
      {"outcome", comparison.verdict.outcome},
      {"verdict", comparison.verdict.verdict},
      {"verdict_reason", comparison.verdict.reason},
      {"screened", screened},
      {"seconds", json_number(comparison.seconds)}};
  if (!comparison.sizes.empty()) {
    ordered_json sizes = ordered_json::array();
    for (const probe::SizePoint& point : comparison.sizes) {
      sizes.push_back({{"n", point.n},
                       {"rows", rows_document(point.rows, no_mixing_of(point.rows), comparison.metric)},
                       {"outcome", point.verdict.outcome},
                       {"verdict", point.verdict.verdict}});
    }
    document["sizes"] = sizes;
    document["overtaking"] = comparison.overtaking;
  }
  return document;
}

}  // namespace headtorch::cli
