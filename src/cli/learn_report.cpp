#include "src/cli/learn_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "src/cli/json_number.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using report::readable;
using train::KernelForm;
using train::LearnedRow;

constexpr double kOtherValley = 1e-6;  // relative, of the loss: more is another minimum

std::string numbers_text(const std::vector<double>& values, int digits = 5) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(readable(value, digits));
  return fmt::format("{}", fmt::join(parts, ", "));
}

double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] / b[i] - 1.0));
  return largest;
}

ordered_json row_json(const LearnedRow& row) {
  ordered_json json = {
      {"kernel", train::name_of(row.form)},
      {"parameters", row.kernel.parameters.size()},
      {"loo", json_over_seeds(row.loo)},
      {"held_out", {{"mean", json_number(row.held_out_mean)}, {"splits", json_numbers(row.held_out)}}},
      {"against_gaussian", nullptr}};
  if (row.against_gaussian)
    json["against_gaussian"] = {{"mean", json_number(row.against_gaussian->mean)},
                                {"low", json_number(row.against_gaussian->low)},
                                {"high", json_number(row.against_gaussian->high)}};
  return json;
}

ordered_json local_json(const LocalKernels& local) {
  ordered_json widths = ordered_json::array(), centres = ordered_json::array();
  for (const train::LocalKernel& kernel : local.at) {
    widths.push_back(json_number(kernel.width));
    centres.push_back(json_number(kernel.centre));
  }
  return {{"width", widths}, {"centre", centres}};
}

std::vector<std::string> row_cells(const LearnedRow& row) {
  const probe::Summary& loo = row.loo_summary;
  std::string range, difference;
  if (row.loo.size() > 1) range = fmt::format("{} to {}", readable(loo.min), readable(loo.max));
  if (row.against_gaussian)
    difference = fmt::format("{} ({} to {})", readable(row.against_gaussian->mean, 3),
                             readable(row.against_gaussian->low, 3), readable(row.against_gaussian->high, 3));
  return {std::string(title_of(row.form)),
          std::to_string(row.kernel.parameters.size()),
          readable(loo.mean),
          range,
          readable(row.held_out_mean),
          difference};
}

/// The learned form that the leave-one-out loss prefers.
const LearnedRow& preferred(const train::LearnedRegression& learned) {
  const LearnedRow* best = nullptr;
  for (const LearnedRow& row : learned.rows) {
    if (!train::is_learned(row.form) || row.form == KernelForm::kGaussian) continue;
    if (best == nullptr || row.loo_summary.mean < best->loo_summary.mean) best = &row;
  }
  return *best;
}

std::string valleys_text(const LearnReport& report) {
  const double least = report.learned.rows.front().loo.front();
  std::string text;
  for (const train::Valley& valley : report.learned.valleys) {
    if (valley.loo <= least * (1.0 + kOtherValley)) continue;
    text += fmt::format("  from h = {} gradients end in another minimum: h = {}, loss {} instead of {}\n",
                        numbers_text(valley.start, 4), numbers_text(valley.end, 4), readable(valley.loo),
                        readable(least));
  }
  return text;
}

std::string local_text(const LearnReport& report) {
  if (report.local.empty()) return {};
  report::Table table{.headers = {fmt::format("width and centre of the weights at {} =", report.x.front())},
                      .rows = {},
                      .align = {}};
  for (const double place : report.places) table.headers.push_back(readable(place));
  for (const LocalKernels& local : report.local) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.emplace_back(title_of(local.form));
    for (const train::LocalKernel& kernel : local.at)
      cells.push_back(fmt::format("{} at {}", readable(kernel.width, 3), readable(kernel.centre, 3)));
  }
  return "\n" + report::to_text(table);
}

}  // namespace

std::string_view title_of(KernelForm form) {
  constexpr std::string_view kTitles[] = {"Gaussian, h learned",
                                          "dot product, x as it is",
                                          "dot product, standardised x",
                                          "dot product, unit length",
                                          "one projection, q = k, of (1, x, x^2)",
                                          "q and k of (1, x)",
                                          "q and k of (1, x, x^2)",
                                          "q and k of a small network",
                                          "4 heads, q and k of (1, x, x^2)"};
  return kTitles[static_cast<std::size_t>(form)];
}

std::string learn_verdict(const LearnReport& report) {
  const LearnedRow& gaussian = report.learned.rows.front();
  const LearnedRow& row = preferred(report.learned);
  const train::PairedDifference& d = *row.against_gaussian;
  const std::string interval = fmt::format(
      "{} (95 % {} to {}) on held-out rows, whose error is {} under the "
      "Gaussian",
      readable(d.mean, 3), readable(d.low, 3), readable(d.high, 3), readable(gaussian.held_out_mean));
  std::string text = fmt::format("Least leave-one-out loss among the learned: {}. ", title_of(row.form));
  if (d.high < 0.0) {
    text += fmt::format("Learning the kernel is worth it here: its squared error differs by {}.", interval);
  } else if (d.low > 0.0) {
    text += fmt::format(
        "Learning the kernel is not worth it here, it does worse: its squared error differs "
        "by {}.",
        interval);
  } else {
    text += fmt::format("Learning the kernel is not ahead here: its squared error differs by {}.", interval);
  }
  const double least_loo = gaussian.loo_summary.mean;
  if (row.loo_summary.mean < least_loo && d.high >= 0.0)
    text += fmt::format(
        " Its leave-one-out loss, {} against {}, promised more: {} parameters were fitted to "
        "that very loss.",
        readable(row.loo_summary.mean), readable(least_loo), row.kernel.parameters.size());
  return text;
}

ordered_json learn_document(const LearnReport& report) {
  const train::LearnedRegression& learned = report.learned;
  ordered_json document = {{"file", report.file}, {"x", report.x}, {"y", report.y}, {"n", report.rows.n()}};
  document["selected"] = {{"bandwidth", json_numbers(report.selected.bandwidth)},
                          {"loo", json_number(report.selected.score)}};
  document["learned"] = {{"bandwidth", json_numbers(learned.bandwidth)},
                         {"loo", json_number(learned.rows.front().loo.front())},
                         {"relative_difference", json_number(largest_relative_difference(
                                                     learned.bandwidth, report.selected.bandwidth))}};
  document["starts"] = ordered_json::array();
  for (const train::Valley& valley : learned.valleys)
    document["starts"].push_back({{"start", json_numbers(valley.start)},
                                  {"end", json_numbers(valley.end)},
                                  {"loo", json_number(valley.loo)}});
  document["identity_difference"] = json_number(learned.identity_difference);
  document["rows"] = ordered_json::array();
  for (const LearnedRow& row : learned.rows) document["rows"].push_back(row_json(row));
  document["local_bandwidth"] = ordered_json::object();
  if (!report.local.empty()) document["local_bandwidth"]["x"] = json_numbers(report.places);
  for (const LocalKernels& local : report.local)
    document["local_bandwidth"][std::string(train::name_of(local.form))] = local_json(local);
  document["verdict"] = learn_verdict(report);
  document["seconds"] = json_number(report.seconds);
  return document;
}

std::string learn_table(const LearnReport& report) {
  const train::LearnedRegression& learned = report.learned;
  std::string text = fmt::format("{}: {} on {}, {}\n", report.file, report.y, fmt::join(report.x, ", "),
                                 report::counted(report.rows.n(), "row"));
  text += fmt::format("h selected by leave-one-out: {}; learned by gradients: {} (relative difference {})\n",
                      numbers_text(report.selected.bandwidth), numbers_text(learned.bandwidth),
                      readable(largest_relative_difference(learned.bandwidth, report.selected.bandwidth), 2));
  text += valleys_text(report);
  text +=
      fmt::format("softmax((q.k - |k|^2 / 2) / h^2) differs from the Gaussian's weights by at most {}\n\n",
                  readable(learned.identity_difference, 2));
  report::Table table{
      .headers = {"kernel", "parameters", "leave-one-out", "over seeds", "held out", "minus the Gaussian's"},
      .rows = {},
      .align = {}};
  for (const LearnedRow& row : learned.rows) table.rows.push_back(row_cells(row));
  text += report::to_text(table);
  text += fmt::format("mean squared errors; held out: {} random splits, fitted on 80 % of the rows\n",
                      learned.rows.front().held_out.size());
  text += local_text(report);
  return text + "\n" + learn_verdict(report) + "\n";
}

std::string learned_curves_csv(const LearnReport& report) {
  std::string text = "x";
  for (const LearnedRow& row : report.learned.rows) text += fmt::format(",{}", train::name_of(row.form));
  text += "\n";
  for (std::size_t i = 0; i < report.curve_x.size(); ++i) {
    text += fmt::format("{}", report.curve_x[i]);
    for (const std::vector<double>& curve : report.curves) text += fmt::format(",{}", curve[i]);
    text += "\n";
  }
  return text;
}

}  // namespace headtorch::cli
