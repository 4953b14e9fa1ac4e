#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/cli/scale_results.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using probe::Estimate;
using probe::ScalePoint;

/// Two digits of the error, and the mean to the same place; four places at most.
std::string with_error(const Estimate& value) {
  if (!(value.se > 0.0)) return fmt::format("{:.3f}", value.mean);
  const int places = std::clamp(1 - static_cast<int>(std::floor(std::log10(value.se))), 0, 4);
  return fmt::format("{:.{}f} +- {:.{}f}", value.mean, places, value.se, places);
}

std::string table_of(std::vector<std::string> headers, std::vector<std::vector<std::string>> rows) {
  report::Table table;
  table.headers = std::move(headers);
  table.rows = std::move(rows);
  table.align.assign(table.headers.size(), report::Align::kRight);
  return report::to_text(table);
}

std::string sharpness_table(const std::vector<ScalePoint>& points) {
  std::vector<std::vector<std::string>> rows;
  for (const ScalePoint& point : points) {
    rows.push_back({std::to_string(point.n), std::to_string(point.d), with_error(point.score_sd),
                    with_error(point.unscaled.entropy), with_error(point.scaled.entropy),
                    with_error(point.unscaled.max_weight), with_error(point.scaled.max_weight)});
  }
  return table_of(
      {"keys", "d", "sd of q.k", "entropy", "entropy, scaled", "largest weight", "largest, scaled"}, rows);
}

std::string jacobian_table(const std::vector<ScalePoint>& points) {
  std::vector<std::vector<std::string>> rows;
  for (const ScalePoint& point : points) {
    rows.push_back({std::to_string(point.n), std::to_string(point.d),
                    with_error(point.unscaled.jacobian_norm), with_error(point.scaled.jacobian_norm),
                    with_error(point.unscaled.jacobian_median), with_error(point.scaled.jacobian_median),
                    with_error(point.unscaled.jacobian_trace), with_error(point.scaled.jacobian_trace)});
  }
  return table_of(
      {"keys", "d", "Jacobian", "Jacobian, scaled", "median", "median, scaled", "trace", "trace, scaled"},
      rows);
}

/// Points with the most keys, of which the sentences speak.
std::vector<ScalePoint> of_most_keys(const std::vector<ScalePoint>& points) {
  std::vector<ScalePoint> chosen;
  for (const ScalePoint& point : points) {
    if (point.n == points.back().n) chosen.push_back(point);
  }
  return chosen;
}

std::string sharpness_words(const std::vector<ScalePoint>& points) {
  const ScalePoint &first = points.front(), &last = points.back();
  return fmt::format(
      "The spread of q.k is sqrt(d): {:.1f} at d = {}, {:.1f} at d = {}; divided by sqrt(d) it is 1 at every "
      "width.\n"
      "Without the scale the softmax over {} keys goes from entropy {:.2f} to {:.2f} nats (uniform: {:.2f}), "
      "and its\n"
      "largest weight from {:.2f} to {:.2f}; it is above {} in {:.0f} % of rows at d = {}. With the scale it "
      "stays at\n"
      "{:.2f} to {:.2f} nats.\n",
      first.score_sd.mean, first.d, last.score_sd.mean, last.d, first.n, first.unscaled.entropy.mean,
      last.unscaled.entropy.mean, std::log(static_cast<double>(first.n)), first.unscaled.max_weight.mean,
      last.unscaled.max_weight.mean, probe::kSaturated, 100.0 * last.unscaled.saturated.mean, last.d,
      std::min(first.scaled.entropy.mean, last.scaled.entropy.mean),
      std::max(first.scaled.entropy.mean, last.scaled.entropy.mean));
}

std::string jacobian_words(const std::vector<ScalePoint>& points) {
  const ScalePoint &first = points.front(), &last = points.back();
  std::string text = fmt::format(
      "The Jacobian of the softmax multiplies every gradient that reaches queries and keys. At d = {} it is "
      "{:.3f}\n"
      "without the scale and {:.3f} with it; half of the rows have less than {:.3f} without it.\n",
      last.d, last.unscaled.jacobian_norm.mean, last.scaled.jacobian_norm.mean,
      last.unscaled.jacobian_median.mean);
  if (first.unscaled.jacobian_norm.mean > first.scaled.jacobian_norm.mean) {
    const auto from = width_where_gradient_shrinks(points, first.n);
    text += fmt::format(
        "A trap: sharper is not yet saturated. At d = {} and {} keys the Jacobian is larger without the "
        "scale ({:.3f}\n"
        "against {:.3f}); {}.\n",
        first.d, first.n, first.unscaled.jacobian_norm.mean, first.scaled.jacobian_norm.mean,
        from ? fmt::format("it is smaller only from d = {} on", *from)
             : std::string("in these widths it never becomes smaller"));
  }
  return text;
}

std::string list_text(const std::vector<double>& values, int digits) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:.{}g}", text.empty() ? "" : " ", value, digits);
  return text;
}

std::string limits_table(const std::vector<probe::SoftmaxLimits>& limits) {
  std::vector<std::vector<std::string>> rows;
  for (const probe::SoftmaxLimits& one : limits) {
    rows.push_back({one.format, fmt::format("{:.6g}", one.largest), list_text(one.scores, 6),
                    list_text(one.naive, 3), list_text(one.safe, 3)});
    rows.push_back({"", fmt::format("{:.6g}", one.smallest), list_text(one.low_scores, 6),
                    list_text(one.low_naive, 3), list_text(one.low_safe, 3)});
  }
  report::Table table;
  table.headers = {"numbers", "last score", "scores just beyond", "naive", "safe"};
  table.rows = rows;
  table.align = {report::Align::kLeft, report::Align::kRight, report::Align::kLeft, report::Align::kLeft,
                 report::Align::kLeft};
  return report::to_text(table);
}

/// Of normal scores with standard deviation sqrt(d).
double share_above(double limit, double d) { return 0.5 * std::erfc(limit / std::sqrt(2.0 * d)); }

std::string limits_words(const std::vector<probe::SoftmaxLimits>& limits) {
  std::string text =
      "The last scores whose exp is a number above 0: beyond them the softmax as written divides infinity "
      "by\n"
      "infinity, or 0 by 0. (The sum overflows a little earlier: every weight is then 0.) Taking the row's "
      "maximum\n"
      "off first leaves every exp at 1 or less, and one at 1.\n";
  const probe::SoftmaxLimits& half = limits.back();
  return text +
         fmt::format(
             "In {} that is no rarity: at d = 64, q.k without the scale is above {:.1f} in about {:.0f} % of "
             "pairs.\n",
             half.format, half.largest, 100.0 * share_above(half.largest, 64.0));
}

std::string temperature_table(const probe::TemperatureStudy& study) {
  std::vector<std::vector<std::string>> rows;
  for (const probe::TemperaturePoint& point : study.points) {
    rows.push_back({fmt::format("{:g}", point.temperature), with_error(point.softmax_entropy),
                    with_error(point.linear_entropy)});
  }
  return table_of({"temperature", "entropy, softmax", "entropy, linear"}, rows);
}

std::string temperature_words(const probe::TemperatureStudy& study) {
  return fmt::format(
      "A lower temperature makes a softmax as sharp as one likes. Linear attention, phi(q) . phi(k) with phi "
      "= elu + 1,\n"
      "tends to max(q, 0) . max(k, 0), where the temperature cancels: it never gets below {:.2f} of {:.2f} "
      "nats here.\n",
      study.linear_limit.mean, std::log(static_cast<double>(study.n)));
}

std::string rate_or_dash(const std::optional<double>& rate) {
  return rate ? fmt::format("{:g}", *rate) : "-";
}

std::string best_table(const ScaleGridResults& results) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < results.grid.rows.size(); ++i) {
    const probe::BestRate& best = results.verdict.best[i];
    double sd = 0.0, n = 0.0;
    for (const auto& cell : results.grid.rows[i].trainings) {
      for (const probe::ScaleTraining& training : cell) {
        sd += training.initial_score_sd;
        n += 1.0;
      }
    }
    rows.push_back({best.scale, report::readable(sd / n, 3),
                    best.by_seed.empty() ? "-" : fmt::format("{:.2g}", best.mean),
                    best.by_seed.empty() ? "-" : fmt::format("{:.2g} .. {:.2g}", best.low, best.high),
                    rate_or_dash(best.largest), rate_or_dash(best.diverges_from),
                    rate_or_dash(best.saturates_from)});
  }
  return table_of(
      {"scale", "score sd at start", "best rate", results.n_seeds < 4 ? "min .. max" : "95 % interval",
       "all learn up to", "diverges from", "saturates from"},
      rows);
}

}  // namespace

std::optional<std::int64_t> width_where_gradient_shrinks(const std::vector<ScalePoint>& points,
                                                         std::int64_t n) {
  std::optional<std::int64_t> from;
  for (const ScalePoint& point : points) {
    if (point.n != n) continue;
    const bool smaller = point.unscaled.jacobian_norm.mean < point.scaled.jacobian_norm.mean;
    if (!smaller) from.reset();
    if (smaller && !from) from = point.d;
  }
  return from;
}

std::int64_t n_diverged(const std::vector<probe::ScaleTraining>& cell) {
  return std::count_if(cell.begin(), cell.end(), probe::diverged);
}

double cell_loss(const std::vector<probe::ScaleTraining>& cell) {
  if (n_diverged(cell) > 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0.0;
  for (const probe::ScaleTraining& training : cell) sum += training.test_loss;
  return sum / static_cast<double>(cell.size());
}

std::string scale_text(const ScaleResults& results) {
  const std::vector<ScalePoint> most = of_most_keys(results.points);
  std::string text = fmt::format(
      "Softmax over q.k, q and k of d standard normal entries: {} rows for each width, seed {}; +- is the "
      "standard error.\n\n",
      results.samples, results.seed);
  text += sharpness_table(results.points) + "\n" + sharpness_words(most) + "\n";
  text += jacobian_table(results.points) + "\n" + jacobian_words(most) + "\n";
  text += limits_table(results.limits) + "\n" + limits_words(results.limits) + "\n";
  text += fmt::format("Temperature: d = {}, {} keys, {} rows.\n\n", results.temperature.d,
                      results.temperature.n, results.temperature_samples);
  return text + temperature_table(results.temperature) + "\n" + temperature_words(results.temperature);
}

std::string grid_text(const ScaleGridResults& results) {
  std::string text =
      fmt::format("{}: test loss by scale and peak rate, mean of {} after {}\n\n", results.task,
                  report::counted(results.n_seeds, "seed"), report::counted(results.steps, "step"));
  std::vector<std::string> headers = {"scale"};
  for (const double rate : results.grid.rates) headers.push_back(fmt::format("{:g}", rate));
  std::vector<std::vector<std::string>> rows;
  for (const probe::ScaleGridRow& row : results.grid.rows) {
    std::vector<std::string>& cells = rows.emplace_back(std::vector{row.scale});
    for (const auto& cell : row.trainings) {
      const std::int64_t lost = n_diverged(cell);
      cells.push_back(lost == 0 ? fmt::format("{:.3f}", cell_loss(cell))
                                : fmt::format("diverged {}/{}", lost, cell.size()));
    }
  }
  text += table_of(headers, rows) + "\n" + best_table(results) + "\n";
  return text + results.verdict.reason + "\n\n" + results.verdict.verdict + "\n";
}

}  // namespace headtorch::cli
