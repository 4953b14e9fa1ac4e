#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "src/cli/json_number.hpp"
#include "src/cli/scale_results.hpp"
#include "src/probe/summary.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using probe::Estimate;
using probe::ScaleTraining;

ordered_json object(const Estimate& value) {
  return {{"mean", json_number(value.mean)}, {"se", json_number(value.se)}};
}

ordered_json object(const probe::Sharpness& sharpness) {
  ordered_json norm = object(sharpness.jacobian_norm);
  norm["median"] = json_number(sharpness.jacobian_median.mean);
  norm["median_se"] = json_number(sharpness.jacobian_median.se);
  return {{"entropy", object(sharpness.entropy)},
          {"max_weight", object(sharpness.max_weight)},
          {"jacobian_norm", norm},
          {"jacobian_trace", object(sharpness.jacobian_trace)},
          {"saturated", object(sharpness.saturated)}};
}

/// The softmax's NaN is what is to be shown, and JSON has none.
ordered_json weights(const std::vector<double>& values) {
  ordered_json list = ordered_json::array();
  for (const double value : values)
    list.push_back(std::isfinite(value) ? ordered_json(value)
                                        : ordered_json(std::isnan(value) ? "nan" : "inf"));
  return list;
}

ordered_json object(const probe::SoftmaxLimits& limits) {
  return {{"format", limits.format},
          {"largest", limits.largest},
          {"next", limits.next},
          {"smallest", limits.smallest},
          {"scores", json_numbers(limits.scores)},
          {"naive", weights(limits.naive)},
          {"safe", weights(limits.safe)},
          {"low_scores", json_numbers(limits.low_scores)},
          {"low_naive", weights(limits.low_naive)},
          {"low_safe", weights(limits.low_safe)}};
}

using Value = std::function<double(const ScaleTraining&)>;

ordered_json by_seed(const std::vector<ScaleTraining>& cell, const Value& value) {
  std::vector<double> values;
  for (const ScaleTraining& training : cell) values.push_back(value(training));
  return json_numbers(values);
}

ordered_json cell_object(double rate, const std::vector<ScaleTraining>& cell) {
  std::vector<double> losses;
  ordered_json diverged = ordered_json::array();
  for (const ScaleTraining& training : cell) {
    losses.push_back(training.test_loss);
    diverged.push_back(probe::diverged(training));
  }
  return {{"rate", rate},
          {"loss", json_over_seeds(losses)},
          {"first_loss", by_seed(cell, [](const auto& one) { return one.first_loss; })},
          {"last_loss", by_seed(cell, [](const auto& one) { return one.last_loss; })},
          {"diverged", diverged},
          {"score_sd_at_start", by_seed(cell, [](const auto& one) { return one.initial_score_sd; })},
          {"entropy_normalised", by_seed(cell, [](const auto& one) { return one.entropy_normalised; })},
          {"saturated", by_seed(cell, [](const auto& one) { return one.saturated; })}};
}

ordered_json best_object(const probe::BestRate& best) {
  if (best.by_seed.empty()) return nullptr;
  return {{"mean", best.mean},
          {"low", best.low},
          {"high", best.high},
          {"at_edge", best.at_edge},
          {"seeds", json_numbers(best.by_seed)}};
}

ordered_json object(const ScaleGridResults& results) {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < results.grid.rows.size(); ++i) {
    const probe::ScaleGridRow& row = results.grid.rows[i];
    const probe::BestRate& best = results.verdict.best[i];
    ordered_json cells = ordered_json::array();
    for (std::size_t rate = 0; rate < results.grid.rates.size(); ++rate)
      cells.push_back(cell_object(results.grid.rates[rate], row.trainings[rate]));
    rows.push_back({{"scale", row.scale},
                    {"best_rate", best_object(best)},
                    {"largest_rate", json_number(best.largest)},
                    {"diverges_from", json_number(best.diverges_from)},
                    {"saturates_from", json_number(best.saturates_from)},
                    {"cells", cells}});
  }
  const probe::ScaleVerdict& verdict = results.verdict;
  return {{"task", results.task},
          {"steps", results.steps},
          {"n_seeds", results.n_seeds},
          {"seed", results.seed},
          {"rates", results.grid.rates},
          {"rows", rows},
          {"ratio",
           {{"mean", json_number(verdict.ratio)},
            {"low", json_number(verdict.ratio_low)},
            {"high", json_number(verdict.ratio_high)},
            {"largest_rates", json_number(verdict.largest_ratio)}}},
          {"advice",
           {{"rate", probe::answer_name(verdict.rate)},
            {"tenfold", probe::answer_name(verdict.tenfold)},
            {"outcome", probe::answer_name(verdict.outcome)}}},
          {"verdict", verdict.verdict},
          {"verdict_reason", verdict.reason}};
}

std::string number(double value) { return fmt::format("{}", value); }
std::string columns(const Estimate& value) { return "," + number(value.mean) + "," + number(value.se); }

}  // namespace

ordered_json scale_document(const ScaleResults& results) {
  ordered_json points = ordered_json::array(), limits = ordered_json::array(),
               temperatures = ordered_json::array();
  for (const probe::ScalePoint& point : results.points) {
    points.push_back({{"d", point.d},
                      {"n", point.n},
                      {"score_sd", object(point.score_sd)},
                      {"unscaled", object(point.unscaled)},
                      {"scaled", object(point.scaled)}});
  }
  for (const probe::SoftmaxLimits& one : results.limits) limits.push_back(object(one));
  for (const probe::TemperaturePoint& point : results.temperature.points) {
    temperatures.push_back({{"temperature", point.temperature},
                            {"softmax_entropy", object(point.softmax_entropy)},
                            {"linear_entropy", object(point.linear_entropy)}});
  }
  ordered_json document = {{"seed", results.seed},
                           {"samples", results.samples},
                           {"softmax", points},
                           {"overflow", limits},
                           {"temperature",
                            {{"d", results.temperature.d},
                             {"n", results.temperature.n},
                             {"samples", results.temperature_samples},
                             {"points", temperatures},
                             {"linear_limit", object(results.temperature.linear_limit)}}}};
  document["grid"] = results.grid ? object(*results.grid) : ordered_json(nullptr);
  return document;
}

std::string scale_csv(const ScaleResults& results) {
  std::string text =
      "keys,d,scaled,score_sd,score_sd_se,entropy,entropy_se,max_weight,max_weight_se,jacobian_norm,jacobian_"
      "norm_se,"
      "jacobian_median,jacobian_median_se,jacobian_trace,jacobian_trace_se,saturated,saturated_se\n";
  for (const probe::ScalePoint& point : results.points) {
    for (const bool scaled : {false, true}) {
      const probe::Sharpness& one = scaled ? point.scaled : point.unscaled;
      const double factor = scaled ? 1.0 / std::sqrt(static_cast<double>(point.d)) : 1.0;
      text += fmt::format("{},{},{}", point.n, point.d, scaled) +
              columns({point.score_sd.mean * factor, point.score_sd.se * factor}) + columns(one.entropy) +
              columns(one.max_weight) + columns(one.jacobian_norm) + columns(one.jacobian_median) +
              columns(one.jacobian_trace) + columns(one.saturated) + "\n";
    }
  }
  return text;
}

std::string temperature_csv(const ScaleResults& results) {
  std::string text = "temperature,softmax_entropy,softmax_entropy_se,linear_entropy,linear_entropy_se\n";
  for (const probe::TemperaturePoint& point : results.temperature.points)
    text += number(point.temperature) + columns(point.softmax_entropy) + columns(point.linear_entropy) + "\n";
  return text;
}

std::string grid_csv(const ScaleGridResults& results) {
  std::string text =
      "scale,rate,seed,first_loss,last_loss,test_loss,diverged,score_sd_at_start,entropy_normalised,"
      "saturated\n";
  for (const probe::ScaleGridRow& row : results.grid.rows) {
    for (std::size_t rate = 0; rate < results.grid.rates.size(); ++rate) {
      for (std::size_t seed = 0; seed < row.trainings[rate].size(); ++seed) {
        const ScaleTraining& one = row.trainings[rate][seed];
        text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.scale, results.grid.rates[rate],
                            results.seed + static_cast<std::int64_t>(seed), one.first_loss, one.last_loss,
                            one.test_loss, probe::diverged(one), one.initial_score_sd, one.entropy_normalised,
                            one.saturated);
      }
    }
  }
  return text;
}

}  // namespace headtorch::cli
