#include "src/cli/regression_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

#include "src/cli/json_number.hpp"
#include "src/report/arrays.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using table::ColumnKind;

ordered_json bandwidth_json(const std::vector<double>& bandwidth) {
  return bandwidth.size() == 1 ? json_number(bandwidth.front()) : json_numbers(bandwidth);
}

/// {name: value} of one row; words and dates as texts.
ordered_json place_json(const std::vector<RegressionColumn>& columns, const std::vector<regress::Variable>& x,
                        std::size_t row) {
  ordered_json place;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].kind == ColumnKind::kNumber) {
      place[columns[i].name] = json_number(x[i].numbers[row]);
    } else {
      place[columns[i].name] = cell_text(columns[i], x[i], row);
    }
  }
  return place;
}

ordered_json probabilities_json(const RegressionColumn& y, std::span<const double> probabilities) {
  ordered_json all;
  for (std::size_t c = 0; c < y.categories.size(); ++c) all[y.categories[c]] = json_number(probabilities[c]);
  return all;
}

const std::string& likeliest(const RegressionColumn& y, std::span<const double> probabilities) {
  return y.categories[static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                                               probabilities.begin())];
}

std::span<const double> row_of(const std::vector<double>& values, std::size_t row, std::size_t width) {
  return std::span(values).subspan(row * width, width);
}

ordered_json summary_json(const probe::Summary& summary) {
  return {{"mean", json_number(summary.mean)},
          {"low", json_number(summary.low)},
          {"high", json_number(summary.high)}};
}

void add_numbers(ordered_json& document, const regress::RegressionStatistics& numbers) {
  document["cv"] = json_number(numbers.cv);
  document["rmse_loo"] = json_number(numbers.rmse_loo);
  document["loo_r2"] = json_number(numbers.loo_r2);
  document["r2_corr"] = json_number(numbers.r2_corr);
  document["r2"] = json_number(numbers.r2);
  document["effective_df"] = json_number(numbers.effective_df);
  document["aicc"] = json_number(numbers.aicc);
  document["residual_sd"] = json_number(numbers.residual_sd);
}

void add_classes(ordered_json& document, const regress::ClassStatistics& classes) {
  document["log_loss"] = json_number(classes.log_loss);
  document["accuracy"] = json_number(classes.accuracy);
  document["log_loss_of_shares"] = json_number(classes.log_loss_of_shares);
  document["accuracy_of_shares"] = json_number(classes.accuracy_of_shares);
  document["effective_df"] = json_number(classes.effective_df);
}

ordered_json rows_json(const RegressionReport& report) {
  const RegressionModel& model = report.model;
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    ordered_json row = {{"line", report.lines[i]}, {"x", place_json(model.x, model.data.x, i)}};
    if (report.numbers) {
      row["y"] = json_number(model.data.y.numbers[i]);
      row["value"] = json_number(report.numbers->fitted[i]);
      row["left_out"] = json_number(report.numbers->left_out[i]);
    } else {
      row["y"] = cell_text(model.y, model.data.y, i);
      row["left_out"] =
          probabilities_json(model.y, row_of(report.classes->left_out, i, model.y.categories.size()));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json curve_json(const RegressionReport& report) {
  ordered_json curve = ordered_json::array();
  const std::size_t width = report.model.y.categories.size();
  for (std::size_t i = 0; i < report.curve_x.size(); ++i) {
    ordered_json point = {{"x", json_number(report.curve_x[i])}};
    if (report.classes) {
      point["probabilities"] =
          probabilities_json(report.model.y, row_of(report.curve_probabilities, i, width));
    } else {
      point["value"] = json_number(report.curve[i].value);
      point["low"] = json_number(report.curve[i].low);
      point["high"] = json_number(report.curve[i].high);
      point["effective_n"] = json_number(report.curve[i].effective_n);
    }
    curve.push_back(std::move(point));
  }
  return curve;
}

std::string method_text(const RegressionReport& report) {
  const bool line = report.model.smoother.degree == regress::Degree::kLinear;
  constexpr const char* kKernels[] = {"Gaussian", "exponential", "Epanechnikov", "box"};
  return fmt::format("{}, {} kernel", line ? "local linear regression" : "Nadaraya-Watson",
                     kKernels[static_cast<std::size_t>(report.model.smoother.kernel)]);
}

std::string bandwidth_text(const RegressionReport& report) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < report.model.x.size(); ++i) {
    parts.push_back(report.model.x.size() == 1 ? report::readable(report.model.bandwidth[i], 5)
                                               : fmt::format("{} {}", report.model.x[i].name,
                                                             report::readable(report.model.bandwidth[i], 4)));
  }
  return fmt::format("bandwidth {} ({})", fmt::join(parts, ", "), report.choice);
}

std::string minima_text(const RegressionReport& report) {
  const std::vector<regress::Minimum>& minima = report.chosen.minima;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(minima.size(), 5); ++i) {
    if (minima[i].is_at_edge || report.model.x.size() > 1) continue;
    others.push_back(fmt::format("{} (score {})", report::readable(minima[i].bandwidth.front()),
                                 report::readable(minima[i].score, 6)));
  }
  if (others.empty()) return {};
  return fmt::format("the score, {}, has other minima at {}\n", report::readable(report.chosen.score, 6),
                     fmt::join(others, ", "));
}

/// Adds "name,..." of a CSV.
std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> fields;
  for (const std::string& cell : cells) fields.push_back(report::csv_field(cell));
  return fmt::format("{}\n", fmt::join(fields, ","));
}

std::vector<std::string> names_of(const std::vector<RegressionColumn>& columns) {
  std::vector<std::string> names;
  for (const RegressionColumn& column : columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> cells_of(const std::vector<RegressionColumn>& columns,
                                  const std::vector<regress::Variable>& x, std::size_t row) {
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < columns.size(); ++i) cells.push_back(cell_text(columns[i], x[i], row));
  return cells;
}

void add_probability_names(std::vector<std::string>& header, const RegressionColumn& y) {
  for (const std::string& category : y.categories) header.push_back("p " + category);
}

void add_numbers(std::vector<std::string>& cells, std::span<const double> numbers) {
  for (const double number : numbers) cells.push_back(fmt::format("{}", number));
}

}  // namespace

ordered_json regression_document(const RegressionReport& report) {
  const RegressionModel& model = report.model;
  ordered_json document = {{"file", report.file},
                           {"x", names_of(model.x)},
                           {"y", model.y.name},
                           {"method", kMethodNames[static_cast<std::size_t>(model.smoother.degree)]},
                           {"kernel", kKernelNames[static_cast<std::size_t>(model.smoother.kernel)]},
                           {"bandwidth", bandwidth_json(model.bandwidth)},
                           {"chosen_by", report.choice},
                           {"score", json_number(report.chosen.score)},
                           {"at_edge", report.chosen.is_at_edge},
                           {"n", report.rows()},
                           {"dropped", report.dropped}};
  if (report.numbers) add_numbers(document, *report.numbers);
  if (report.classes) add_classes(document, *report.classes);
  document["gains"] = ordered_json::array();
  for (const GainOver& gain : report.gains)
    document["gains"].push_back(
        {{"over", gain.name}, {"error", json_number(gain.error)}, {"gain", summary_json(gain.gain)}});
  document["verdict"] = regression_verdict(report);
  document["minima"] = ordered_json::array();
  for (const regress::Minimum& minimum : report.chosen.minima)
    document["minima"].push_back({{"bandwidth", bandwidth_json(minimum.bandwidth)},
                                  {"score", json_number(minimum.score)},
                                  {"at_edge", minimum.is_at_edge}});
  document["cv_curve"] = ordered_json::array();
  for (const regress::CurvePoint& point : report.chosen.curve)
    document["cv_curve"].push_back({json_number(point.bandwidth), json_number(point.score)});
  document["predictions"] = rows_json(report);
  document["curve"] = curve_json(report);
  document["seconds"] = json_number(report.seconds);
  return document;
}

std::string regression_summary(const RegressionReport& report) {
  const auto shown = [](double value, int digits = 4) {
    return std::isfinite(value) ? report::readable(value, digits) : std::string("-");
  };
  std::string text =
      fmt::format("{}: {} on {}, {}{}\n{}, {}\n", report.file, report.model.y.name,
                  fmt::join(names_of(report.model.x), ", "), report::counted(report.rows(), "row"),
                  report.dropped > 0 ? fmt::format(" ({} left out)", report.dropped) : "",
                  method_text(report), bandwidth_text(report));
  text += minima_text(report) + '\n';
  report::Table table;
  table.headers = {"", ""};
  const auto add = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  if (report.numbers) {
    const regress::RegressionStatistics& numbers = *report.numbers;
    add("root mean squared error, leave-one-out", shown(numbers.rmse_loo));
    for (const GainOver& gain : report.gains) add("  of " + gain.name, shown(gain.error));
    add("CV, its square", shown(numbers.cv, 6));
    add("R2 by leave-one-out", shown(numbers.loo_r2));
    add("R2 in sample, 1 - SSE/SST", shown(numbers.r2));
    add("R2 in sample, squared correlation", shown(numbers.r2_corr));
    add("effective degrees of freedom", shown(numbers.effective_df));
    add("AICc", numbers.aicc ? shown(*numbers.aicc, 5) : std::string("-"));
    add("residual sd", shown(numbers.residual_sd));
  } else {
    const regress::ClassStatistics& classes = *report.classes;
    add("log loss, leave-one-out (nats)", shown(classes.log_loss));
    add("  of the classes' shares", shown(classes.log_loss_of_shares));
    add("accuracy, leave-one-out", shown(classes.accuracy));
    add("  of the most frequent class", shown(classes.accuracy_of_shares));
    add("effective degrees of freedom", shown(classes.effective_df));
  }
  const std::string lines = report::to_text(table);  // without its empty headers and their rule
  text += lines.substr(lines.find('\n', lines.find('\n') + 1) + 1);
  return text + '\n' + regression_verdict(report) + '\n';
}

std::string selection_csv(const RegressionReport& report) {
  std::string text = report.model.x.size() == 1 ? "bandwidth,score\n" : "factor,score\n";
  for (const regress::CurvePoint& point : report.chosen.curve)
    fmt::format_to(std::back_inserter(text), "{},{}\n", point.bandwidth, point.score);
  return text;
}

std::string rows_csv(const RegressionReport& report) {
  const RegressionModel& model = report.model;
  std::vector<std::string> header = names_of(model.x);
  header.push_back(model.y.name);
  if (report.numbers) {
    header.insert(header.end(), {"fitted", "left out"});
  } else {
    add_probability_names(header, model.y);
  }
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    std::vector<std::string> cells = cells_of(model.x, model.data.x, i);
    cells.push_back(cell_text(model.y, model.data.y, i));
    if (report.numbers) {
      add_numbers(cells, std::array{report.numbers->fitted[i], report.numbers->left_out[i]});
    } else {
      add_numbers(cells, row_of(report.classes->left_out, i, model.y.categories.size()));
    }
    text += csv_line(cells);
  }
  return text;
}

std::string curve_csv(const RegressionReport& report) {
  if (!report.has_curve()) return {};
  std::vector<std::string> header = {report.model.x.front().name};
  const std::size_t width = report.model.y.categories.size();
  if (report.classes) {
    add_probability_names(header, report.model.y);
  } else {
    header.insert(header.end(), {"value", "low", "high"});
  }
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < report.curve_x.size(); ++i) {
    std::vector<std::string> cells;
    add_numbers(cells, std::array{report.curve_x[i]});
    if (report.classes) {
      add_numbers(cells, row_of(report.curve_probabilities, i, width));
    } else {
      add_numbers(cells, std::array{report.curve[i].value, report.curve[i].low, report.curve[i].high});
    }
    text += csv_line(cells);
  }
  return text;
}

std::string predictions_csv(const RegressionModel& model, const Predictions& predictions) {
  std::vector<std::string> header = names_of(model.x);
  header.push_back(model.y.name);
  if (model.predicts_classes()) {
    add_probability_names(header, model.y);
  } else {
    header.insert(header.end(), {"low", "high"});
  }
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < predictions.places.lines.size(); ++i) {
    std::vector<std::string> cells = cells_of(model.x, predictions.places.x, i);
    if (model.predicts_classes()) {
      const auto of_row = row_of(predictions.probabilities, i, model.y.categories.size());
      cells.push_back(likeliest(model.y, of_row));
      add_numbers(cells, of_row);
    } else {
      const regress::Estimate& estimate = predictions.estimates[i];
      add_numbers(cells, std::array{estimate.value, estimate.low, estimate.high});
    }
    text += csv_line(cells);
  }
  return text;
}

ordered_json predictions_document(const RegressionModel& model, const Predictions& predictions) {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < predictions.places.lines.size(); ++i) {
    ordered_json row = {{"line", predictions.places.lines[i]},
                        {"x", place_json(model.x, predictions.places.x, i)}};
    if (model.predicts_classes()) {
      const auto of_row = row_of(predictions.probabilities, i, model.y.categories.size());
      row["value"] = likeliest(model.y, of_row);
      row["probabilities"] = probabilities_json(model.y, of_row);
    } else {
      const regress::Estimate& estimate = predictions.estimates[i];
      row["value"] = json_number(estimate.value);
      row["low"] = json_number(estimate.low);
      row["high"] = json_number(estimate.high);
      row["effective_n"] = json_number(estimate.effective_n);
    }
    rows.push_back(std::move(row));
  }
  return {{"predictions", rows}};
}

}  // namespace headtorch::cli
