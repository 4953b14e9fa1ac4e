#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"
#include "src/regress/data.hpp"
#include "src/regress/in_sample.hpp"
#include "src/regress/leave_one_out.hpp"
#include "src/regress/product_choice.hpp"
#include "src/regress/rules.hpp"
#include "src/regress/scan.hpp"

namespace headtorch::regress {
namespace {

constexpr const char* kWhere = "bandwidth";
constexpr double kCeiling = 1e3;                 // ranges of x: all weights are alike
constexpr double kFloor = 2e-3;                  // ranges of x, or kGaps if that is less
constexpr double kGaps = 4.0;                    // median gaps between neighbours
constexpr double kFineStep = 0.04, kStep = 0.1;  // in ln h
constexpr std::size_t kFew = 2000;               // points: up to here the finer grid

bool has_classes(const RegressionData& data) { return data.y.n_categories > 0; }

bool is_one_number(const RegressionData& data) { return data.x.size() == 1 && data.x[0].n_categories == 0; }

void check_request(const RegressionData& data, const Smoother& smoother, const BandwidthRequest& request) {
  check_data(data, kWhere);
  const Choice choice = request.choice;
  if (has_classes(data) && smoother.degree == Degree::kLinear)
    throw ConfigError(kWhere, "a line for an outcome of classes, expected a constant");
  if (has_classes(data) && choice == Choice::kAicc)
    throw ConfigError(kWhere, "AICc for an outcome of classes, expected cross-validation");
  if (choice == Choice::kPlugIn && (has_classes(data) || !is_one_number(data)))
    throw ConfigError(kWhere, "plug-in needs one column of numbers and an outcome of numbers");
  if (choice == Choice::kSweep && !is_one_number(data))
    throw ConfigError(kWhere, "a sweep needs one column of numbers");
  if (choice == Choice::kRuleOfThumb &&
      std::any_of(data.x.begin(), data.x.end(), [](const Variable& x) { return x.n_categories > 0; }))
    throw ConfigError(kWhere, "the rule of thumb needs columns of numbers");
  const Sweep& sweep = request.sweep;
  if (choice == Choice::kSweep) {
    check_bandwidth(sweep.low, kWhere);
    check_bandwidth(sweep.high, kWhere);
    if (sweep.n < 2 || !(sweep.high > sweep.low))
      throw ConfigError(kWhere, fmt::format("a sweep of {} from {} to {}, expected at least 2 that ascend",
                                            sweep.n, sweep.low, sweep.high));
  }
  if (rows_of(data.x[0]) < 2) throw DataError(kWhere, "one row, expected at least two");
}

/// The score of one column of numbers for an outcome of numbers, in O(n).
class OneColumn {
 public:
  OneColumn(const RegressionData& data, const Smoother& smoother, Choice choice)
      : sample_(data.x[0].numbers, data.y.numbers), smoother_(smoother), choice_(choice) {}

  double score(double h) const {
    if (choice_ != Choice::kAicc) return leave_one_out_errors(sample_, smoother_, std::span(&h, 1))[0];
    const InSample fit = in_sample(sample_, smoother_, h, Traces::kFirst);
    double mean_square = 0.0;
    for (std::size_t i = 0; i < sample_.size(); ++i)
      mean_square += std::pow(sample_.y()[i] - fit.fitted[i], 2) / static_cast<double>(sample_.size());
    return corrected_aic(mean_square, fit.trace, sample_.size())
        .value_or(std::numeric_limits<double>::infinity());
  }

  bool has_slope() const {
    return smoother_.kernel == Kernel::kGaussian && smoother_.degree == Degree::kConstant &&
           choice_ != Choice::kAicc;
  }
  double slope(double h) const { return gaussian_leave_one_out(sample_, h).slope; }
  const Sample& sample() const { return sample_; }

 private:
  Sample sample_;
  Smoother smoother_;
  Choice choice_;
};

ScanRequest range_of(const Variable& column) {
  const Spread spread = spread_of(column.numbers);
  ScanRequest request;
  request.low = std::min(kFloor * spread.range, kGaps * spread.median_gap);
  request.high = kCeiling * spread.range;
  const double least = std::numeric_limits<double>::min(), most = std::numeric_limits<double>::max();
  request.low = std::max(request.low, least);
  request.high = std::clamp(request.high, request.low, most);
  request.step = column.numbers.size() <= kFew ? kFineStep : kStep;
  return request;
}

ChosenBandwidth sweep(const Sweep& sweep, const std::function<double(double)>& score) {
  ScanResult found;
  std::vector<double> scores;
  for (std::int64_t i = 0; i < sweep.n; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sweep.n - 1);
    const double h = i == 0             ? sweep.low
                     : i + 1 == sweep.n ? sweep.high
                                        : sweep.low * std::pow(sweep.high / sweep.low, share);
    scores.push_back(score(h));
    found.curve.push_back({h, std::isfinite(scores.back()) ? scores.back() : std::nan("")});
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool is_first = i == 0, is_last = i + 1 == scores.size();
    if (std::isfinite(scores[i]) && (is_first || scores[i - 1] > scores[i]) &&
        (is_last || scores[i + 1] >= scores[i]))
      found.minima.push_back({{found.curve[i].bandwidth}, scores[i], is_first || is_last});
  }
  std::stable_sort(found.minima.begin(), found.minima.end(),
                   [](const Minimum& a, const Minimum& b) { return a.score < b.score; });
  return chosen_from(std::move(found), kWhere);
}

std::vector<double> rules_of_thumb(const RegressionData& data, Kernel kernel) {
  std::vector<double> bandwidth;
  for (const Variable& column : data.x) {
    const double h = rule_of_thumb(column.numbers, data.x.size(), kernel);
    bandwidth.push_back(h > 0.0 ? h : kAnyBandwidth);
  }
  return bandwidth;
}

/// What leave-one-out makes of a bandwidth that nothing searched for.
ChosenBandwidth unsearched(std::vector<double> bandwidth, const std::function<double(double)>& score) {
  ChosenBandwidth chosen;
  chosen.score = score(bandwidth[0]);
  chosen.bandwidth = std::move(bandwidth);
  return chosen;
}

ChosenBandwidth choose_for_one_number(const RegressionData& data, const Smoother& smoother,
                                      const BandwidthRequest& request) {
  const OneColumn column(data, smoother, request.choice);
  const auto score = [&](double h) { return column.score(h); };
  if (request.choice == Choice::kGiven) {
    check_bandwidth(request.given[0], kWhere);
    return unsearched(request.given, score);
  }
  if (request.choice == Choice::kSweep) return sweep(request.sweep, score);
  if (column.sample().x().front() == column.sample().x().back()) return unsearched({kAnyBandwidth}, score);
  if (request.choice == Choice::kRuleOfThumb) return unsearched(rules_of_thumb(data, smoother.kernel), score);
  if (request.choice == Choice::kPlugIn)
    return unsearched({plug_in(column.sample(), smoother.kernel)}, score);
  ScanRequest range = range_of(data.x[0]);
  range.score = score;
  if (!varies(data.y)) {  // every bandwidth gives it
    ChosenBandwidth widest = unsearched({range.high}, score);
    widest.is_at_edge = true;
    widest.edges = {0};
    return widest;
  }
  if (column.has_slope()) range.slope = [&](double h) { return column.slope(h); };
  return chosen_from(scan(range), kWhere);
}

}  // namespace

ChosenBandwidth choose_bandwidth(const RegressionData& data, const Smoother& smoother,
                                 const BandwidthRequest& request) {
  check_request(data, smoother, request);
  if (request.choice == Choice::kGiven && request.given.size() != data.x.size())
    throw ConfigError(kWhere, fmt::format("{} bandwidths for {} columns, expected one a column",
                                          request.given.size(), data.x.size()));
  if (is_one_number(data) && !has_classes(data)) return choose_for_one_number(data, smoother, request);
  const ProductChoice choice(data, smoother, request.choice);
  switch (request.choice) {
    case Choice::kGiven:
      return choice.unsearched(request.given);
    case Choice::kRuleOfThumb:
      return choice.unsearched(rules_of_thumb(data, smoother.kernel));
    case Choice::kSweep:
      return sweep(request.sweep, [&](double h) { return choice.score({h}); });
    default:
      break;
  }
  if (!is_one_number(data)) return choice.search();
  const auto score = [&](double h) { return choice.score({h}); };
  const auto& x = data.x[0].numbers;
  if (std::equal(x.begin() + 1, x.end(), x.begin())) return unsearched({kAnyBandwidth}, score);
  ScanRequest range = range_of(data.x[0]);
  range.score = score;
  range.step = kStep;
  return chosen_from(scan(range), kWhere);
}

}  // namespace headtorch::regress
