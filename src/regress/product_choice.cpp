#include "src/regress/product_choice.hpp"

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/regress/data.hpp"
#include "src/regress/product_search.hpp"
#include "src/regress/rules.hpp"
#include "src/regress/scan.hpp"

namespace headtorch::regress {
namespace {

constexpr double kFloor = 1e-3, kCeiling = 1e3, kFar = 3.0;      // ranges of x
constexpr double kFloorOfCategory = 1e-8, kFarOfCategory = 0.9;  // of the widest
constexpr double kRuleFactor = 1.06, kWide = 3.0;
constexpr double kLowCommon = 0.02, kHighCommon = 10.0, kCommonStep = 0.25;
constexpr double kLowOfAll = 0.01, kHighOfAll = 100.0, kStepOfAll = 0.07;
constexpr int kManyStarts = 16, kFewStarts = 7, kStartsOfLine = 4;
constexpr std::size_t kMany = 1000;
constexpr int kCurvePoints = 41;
constexpr double kCurveReach = 3.0;  // in ln of the factor

}  // namespace

ProductChoice::ProductChoice(const RegressionData& data, const Smoother& smoother, Choice choice)
    : data_(data), smoother_(smoother), choice_(choice) {
  if (data.y.n_categories > 0) {
    kernel_ = std::make_unique<ProductKernel>(data.x, smoother.kernel);
  } else {
    fit_ = std::make_unique<DirectFit>(data, smoother);
  }
  for (std::size_t k = 0; k < data.x.size(); ++k) {
    if (!varies(data.x[k])) continue;
    varying_.push_back(k);
    if (data.x[k].n_categories > 0) {
      const double widest = widest_of_category(data.x[k].n_categories);
      ranges_.push_back({kFloorOfCategory * widest, widest, kFarOfCategory * widest, widest});
    } else {
      const Spread spread = spread_of(data.x[k].numbers);
      ranges_.push_back({kFloor * spread.range, kCeiling * spread.range, kFar * spread.range, spread.sd});
    }
  }
}

Score ProductChoice::evaluate(std::span<const double> bandwidth, Slopes slopes) const {
  if (kernel_) return log_loss(*kernel_, data_.y.codes, bandwidth, slopes);
  return choice_ == Choice::kAicc ? aicc(*fit_, bandwidth, slopes) : squared_error(*fit_, bandwidth, slopes);
}

ChosenBandwidth ProductChoice::unsearched(const std::vector<double>& bandwidth) const {
  ChosenBandwidth chosen;
  chosen.bandwidth = bandwidth;
  chosen.score = score(bandwidth);
  return chosen;
}

/// All columns' scales times `factor`, those of categories up to their widest; of varying columns.
std::vector<double> ProductChoice::scaled(double factor) const {
  std::vector<double> bandwidth;
  for (const Range& range : ranges_)
    bandwidth.push_back(std::clamp(range.scale * factor, range.low, range.high));
  return bandwidth;
}

std::vector<std::vector<double>> ProductChoice::starts() const {
  const std::size_t n = fit_ ? fit_->size() : kernel_->size(), d = ranges_.size();
  const double rule = std::pow(static_cast<double>(n), -1.0 / (4.0 + static_cast<double>(d))) *
                      canonical_factor(smoother_.kernel);
  std::vector<std::vector<double>> all{scaled(kRuleFactor * rule), scaled(kWide)};
  double best = 0.0, least = std::numeric_limits<double>::infinity();
  for (double factor = kLowCommon; factor < kHighCommon; factor *= std::exp(kCommonStep)) {
    std::vector<double> bandwidth(data_.x.size(), kAnyBandwidth);
    const std::vector<double> common = scaled(factor);
    for (std::size_t k = 0; k < d; ++k) bandwidth[varying_[k]] = common[k];
    for (std::size_t k = 0; k < bandwidth.size(); ++k) {
      if (data_.x[k].n_categories > 0 && !varies(data_.x[k])) bandwidth[k] = 0.0;
    }
    const double here = score(bandwidth);
    if (here < least) best = factor, least = here;
  }
  if (best > 0.0) all.push_back(scaled(best));
  Random random(0, 0);
  const int n_random = smoother_.degree == Degree::kLinear ? kStartsOfLine
                       : n < kMany                         ? kManyStarts
                                                           : kFewStarts;
  for (int start = 0; start < n_random; ++start) {
    std::vector<double> bandwidth;
    for (const Range& range : ranges_)
      bandwidth.push_back(
          std::clamp(range.scale * rule * std::exp(-1.5 + 4.0 * random.uniform()), range.low, range.high));
    all.push_back(bandwidth);
  }
  return all;
}

ChosenBandwidth ProductChoice::search() const {
  std::vector<double> bandwidth;
  for (const Variable& column : data_.x) bandwidth.push_back(column.n_categories > 0 ? 0.0 : kAnyBandwidth);
  if (varying_.empty()) return unsearched(bandwidth);
  if (!varies(data_.y)) {
    for (std::size_t k = 0; k < varying_.size(); ++k) bandwidth[varying_[k]] = ranges_[k].high;
    ChosenBandwidth widest = unsearched(bandwidth);
    widest.is_at_edge = true;
    widest.edges = varying_;
    return widest;
  }
  const auto whole = [&](std::span<const double> varying) {
    std::vector<double> all = bandwidth;
    for (std::size_t k = 0; k < varying_.size(); ++k) all[varying_[k]] = varying[k];
    return all;
  };
  ProductSearch problem;
  problem.score = [&](std::span<const double> varying, Slopes slopes) {
    Score score = evaluate(whole(varying), slopes);
    if (slopes == Slopes::kAll) {
      std::vector<double> slope;
      for (const std::size_t k : varying_) slope.push_back(score.slope[k]);
      score.slope = slope;
    }
    return score;
  };
  const bool is_smooth = smoother_.kernel == Kernel::kGaussian || smoother_.kernel == Kernel::kExponential;
  problem.slopes = is_smooth ? Slopes::kAll : Slopes::kNone;
  for (const Range& range : ranges_) {
    problem.low.push_back(range.low);
    problem.high.push_back(range.high);
    problem.far.push_back(range.far);
  }
  problem.starts = starts();
  ChosenBandwidth chosen;
  for (Minimum& minimum : search_product(problem)) {
    minimum.bandwidth = whole(minimum.bandwidth);
    chosen.minima.push_back(minimum);
  }
  chosen.bandwidth = chosen.minima[0].bandwidth;
  chosen.score = chosen.minima[0].score;
  chosen.is_at_edge = chosen.minima[0].is_at_edge;
  for (std::size_t k = 0; k < varying_.size(); ++k) {
    const double h = chosen.bandwidth[varying_[k]];
    if (h <= ranges_[k].low * (1 + 1e-6) || h >= ranges_[k].high * (1 - 1e-6))
      chosen.edges.push_back(varying_[k]);
  }
  chosen.curve = curve_along(chosen.bandwidth);
  return chosen;
}

ChosenBandwidth choose_common_bandwidth(const RegressionData& data, Kernel kernel) {
  constexpr const char* kWhere = "common bandwidth";
  check_data(data, kWhere);
  if (rows_of(data.y) < 2) throw DataError(kWhere, "one row, expected at least two");
  RegressionData standardised{{}, data.y};
  for (const Variable& column : data.x) {
    if (column.n_categories > 0) throw ConfigError(kWhere, "a column of categories, expected numbers");
    if (!varies(column)) continue;
    const double sd = spread_of(column.numbers).sd;
    Variable& own = standardised.x.emplace_back(column);
    for (double& value : own.numbers) value /= sd;
  }
  if (standardised.x.empty()) {
    DirectFit fit(data, {kernel, Degree::kConstant});
    const std::vector<double> any(data.x.size(), kAnyBandwidth);
    ChosenBandwidth chosen;
    chosen.bandwidth = {kAnyBandwidth};
    chosen.score = squared_error(fit, any, Slopes::kNone).value;
    return chosen;
  }
  DirectFit fit(standardised, {kernel, Degree::kConstant});
  const auto score = [&](double h) {
    return squared_error(fit, std::vector<double>(standardised.x.size(), h), Slopes::kNone).value;
  };
  return chosen_from(scan({.score = score, .low = kLowOfAll, .high = kHighOfAll, .step = kStepOfAll}),
                     kWhere);
}

std::vector<CurvePoint> ProductChoice::curve_along(const std::vector<double>& bandwidth) const {
  std::vector<CurvePoint> curve;
  for (int i = 0; i < kCurvePoints; ++i) {
    const double factor = std::exp(kCurveReach * (2.0 * i / (kCurvePoints - 1) - 1.0));
    std::vector<double> here = bandwidth;
    for (std::size_t k = 0; k < here.size(); ++k) {
      here[k] *= factor;
      if (data_.x[k].n_categories > 0)
        here[k] = std::min(here[k], widest_of_category(data_.x[k].n_categories));
    }
    const double value = score(here);
    curve.push_back({factor, std::isfinite(value) ? value : std::nan("")});
  }
  return curve;
}

}  // namespace headtorch::regress
