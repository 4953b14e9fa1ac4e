#include "src/probe/scale_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/probe/summary.hpp"

namespace headtorch::probe {
namespace {

constexpr std::string_view kWhere = "scale";
constexpr double kLeastFall = 0.1;  // of the first loss, for a training to have learned
constexpr double kShareOfFall = 0.5;
constexpr double kRounding = 1e-9;  // of powers and logarithms, relative

void check_grid(const ScaleGrid& grid) {
  const auto has = [&](std::string_view scale) {
    return std::any_of(grid.rows.begin(), grid.rows.end(),
                       [&](const auto& row) { return row.scale == scale; });
  };
  if (!has("sqrt") || !has("none")) throw ConfigError(kWhere, "has no rows sqrt and none, expected both");
  if (grid.rates.empty()) throw ConfigError(kWhere, "has no rates, expected at least one");
  const std::size_t seeds = grid.rows.front().trainings.empty() ? 0 : grid.rows.front().trainings[0].size();
  for (const ScaleGridRow& row : grid.rows) {
    bool fits = row.trainings.size() == grid.rates.size() && seeds > 0;
    for (const auto& cell : row.trainings) fits = fits && cell.size() == seeds;
    if (!fits) throw ConfigError(kWhere, fmt::format("row {} does not fit the rates and seeds", row.scale));
  }
}

double fall(const ScaleTraining& training) {
  return diverged(training) ? 0.0 : training.first_loss - training.test_loss;
}

/// The least fall that counts as learning, by seed.
std::vector<double> least_falls(const ScaleGrid& grid) {
  std::vector<double> least(grid.rows.front().trainings[0].size(), 0.0);
  for (std::size_t seed = 0; seed < least.size(); ++seed) {
    for (const ScaleGridRow& row : grid.rows) {
      for (const auto& cell : row.trainings) {
        least[seed] = std::max(least[seed], kShareOfFall * fall(cell[seed]));
        if (std::isfinite(cell[seed].first_loss))
          least[seed] = std::max(least[seed], kLeastFall * cell[seed].first_loss);
      }
    }
  }
  return least;
}

struct Span {
  double mean = 0.0, low = 0.0, high = 0.0;
};

/// Geometric mean, with its interval or range.
Span geometric(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const Summary summary = summarise(logs);
  return {std::exp(summary.mean), std::exp(summary.low.value_or(summary.min)),
          std::exp(summary.high.value_or(summary.max))};
}

constexpr double kMostRows = 0.5;

void find_bad_rates(const ScaleGrid& grid, const ScaleGridRow& row, BestRate& best) {
  for (std::size_t i = grid.rates.size(); i-- > 0;) {
    const auto& cell = row.trainings[i];
    double saturated = 0.0;
    for (const ScaleTraining& training : cell) saturated += training.saturated;
    if (std::any_of(cell.begin(), cell.end(), diverged)) best.diverges_from = grid.rates[i];
    if (saturated > kMostRows * static_cast<double>(cell.size())) best.saturates_from = grid.rates[i];
  }
}

/// by_seed stays empty when a seed learns at no rate.
BestRate best_rate(const ScaleGrid& grid, const ScaleGridRow& row, const std::vector<double>& least) {
  BestRate best{.scale = row.scale};
  find_bad_rates(grid, row, best);
  for (std::size_t seed = 0; seed < least.size(); ++seed) {
    std::optional<std::size_t> lowest;
    for (std::size_t i = 0; i < grid.rates.size(); ++i) {
      const ScaleTraining& training = row.trainings[i][seed];
      if (fall(training) < least[seed]) continue;
      if (!lowest || training.test_loss < row.trainings[*lowest][seed].test_loss) lowest = i;
    }
    if (!lowest) {
      best.by_seed.clear();
      return best;
    }
    best.by_seed.push_back(grid.rates[*lowest]);
    best.at_edge = best.at_edge || *lowest == 0 || *lowest + 1 == grid.rates.size();
  }
  const Span span = geometric(best.by_seed);
  best.mean = span.mean;
  best.low = span.low;
  best.high = span.high;
  for (std::size_t i = 0; i < grid.rates.size(); ++i) {
    bool all = true;
    for (std::size_t seed = 0; seed < least.size(); ++seed)
      all = all && fall(row.trainings[i][seed]) >= least[seed];
    if (all) best.largest = grid.rates[i];
  }
  return best;
}

Answer lies(double low, double high, double from, double to) {
  if (low >= from * (1.0 - kRounding) && high <= to * (1.0 + kRounding)) return Answer::kConfirmed;
  if (high < from * (1.0 - kRounding) || low > to * (1.0 + kRounding)) return Answer::kNotConfirmed;
  return Answer::kOpen;
}

std::string rate_text(double rate) { return fmt::format("{:.2g}", rate); }

std::string span_text(double mean, double low, double high) {
  return fmt::format("{:.2g} ({:.2g} to {:.2g})", mean, low, high);
}

std::string best_text(const BestRate& best) {
  if (best.by_seed.empty())
    return fmt::format("Scale {}: some seed learns at none of these rates.", best.scale);
  std::string text =
      fmt::format("Scale {}: best rate {}{}", best.scale, span_text(best.mean, best.low, best.high),
                  best.at_edge ? ", at the edge of the rates tried" : "");
  return text + (best.largest ? fmt::format("; every seed learns up to {}.", rate_text(*best.largest))
                              : std::string("; at no rate does every seed learn."));
}

void compare(const BestRate& sqrt, const BestRate& none, ScaleVerdict& verdict) {
  std::vector<double> ratios;
  for (std::size_t seed = 0; seed < sqrt.by_seed.size(); ++seed)
    ratios.push_back(sqrt.by_seed[seed] / none.by_seed[seed]);
  const Span span = geometric(ratios);
  verdict.ratio = span.mean;
  verdict.ratio_low = span.low;
  verdict.ratio_high = span.high;
  verdict.rate = lies(sqrt.low, sqrt.high, kAdvisedLow, kAdvisedHigh);
  verdict.tenfold = lies(span.low, span.high, kTenfoldLow, kTenfoldHigh);
  if (sqrt.largest && none.largest) {
    verdict.largest_ratio = *sqrt.largest / *none.largest;
    verdict.tenfold = std::min(
        verdict.tenfold, lies(*verdict.largest_ratio, *verdict.largest_ratio, kTenfoldLow, kTenfoldHigh));
  }
  // The order of Answer is from yes to no: one no decides, else one doubt.
  verdict.outcome = std::max(verdict.rate, verdict.tenfold);
}

std::string verdict_text(const ScaleVerdict& verdict, const BestRate& sqrt) {
  std::string text = fmt::format(
      "The advice \"rates of 1e-4 to 3e-4 with the default scale, about ten times less without\" is {} "
      "here: ",
      verdict.outcome == Answer::kOpen ? "neither confirmed nor refuted" : answer_name(verdict.outcome));
  const std::string best = span_text(sqrt.mean, sqrt.low, sqrt.high);
  text += verdict.rate == Answer::kConfirmed
              ? fmt::format("with the scale the best rate, {}, lies within it", best)
          : verdict.rate == Answer::kOpen
              ? fmt::format("with the scale the best rate, {}, lies partly within it", best)
              : fmt::format("with the scale the best rate is {}", best);
  const std::string ratio = span_text(verdict.ratio, verdict.ratio_low, verdict.ratio_high);
  text += fmt::format("; it is {} times that without", ratio);
  if (verdict.largest_ratio)
    text +=
        fmt::format(", and the largest rate at which every seed learns {:.2g} times", *verdict.largest_ratio);
  return text + ".";
}

}  // namespace

bool diverged(const ScaleTraining& training) {
  return !std::isfinite(training.last_loss) || !std::isfinite(training.test_loss) ||
         training.test_loss > kAboveStart * training.first_loss;
}

std::string answer_name(Answer answer) {
  switch (answer) {
    case Answer::kConfirmed:
      return "confirmed";
    case Answer::kOpen:
      return "open";
    case Answer::kNotConfirmed:
      return "not confirmed";
  }
  return {};
}

ScaleVerdict judge_scale(const ScaleGrid& grid) {
  check_grid(grid);
  const std::vector<double> least = least_falls(grid);
  ScaleVerdict verdict;
  const BestRate *sqrt = nullptr, *none = nullptr;
  verdict.best.reserve(grid.rows.size());
  for (const ScaleGridRow& row : grid.rows) {
    const BestRate& best = verdict.best.emplace_back(best_rate(grid, row, least));
    if (row.scale == "sqrt") sqrt = &best;
    if (row.scale == "none") none = &best;
    verdict.reason += (verdict.reason.empty() ? "" : "\n") + best_text(best);
  }
  if (sqrt->by_seed.empty() || none->by_seed.empty()) {
    verdict.verdict = fmt::format(
        "No verdict: scale {} learns too little in these steps for a best rate. More steps, or other rates, "
        "may "
        "tell.",
        sqrt->by_seed.empty() ? "sqrt" : "none");
    return verdict;
  }
  compare(*sqrt, *none, verdict);
  verdict.verdict = verdict_text(verdict, *sqrt);
  return verdict;
}

}  // namespace headtorch::probe
