#pragma once

#include <memory>
#include <vector>

#include "src/regress/criteria.hpp"
#include "src/regress/regression.hpp"

namespace headtorch::regress {

/// Internal to this layer: the choice of a bandwidth for any columns and any outcome, in O(n^2 d) a score.
class ProductChoice {
 public:
  ProductChoice(const RegressionData& data, const Smoother& smoother, Choice choice);

  double score(const std::vector<double>& bandwidth) const {
    return evaluate(bandwidth, Slopes::kNone).value;
  }
  Score evaluate(std::span<const double> bandwidth, Slopes slopes) const;

  ChosenBandwidth unsearched(const std::vector<double>& bandwidth) const;
  /// Of the columns that vary.
  ChosenBandwidth search() const;

 private:
  struct Range {
    double low = 0.0, high = 0.0, far = 0.0;
    double scale = 0.0;  ///< sd, or the widest of a category
  };

  std::vector<std::vector<double>> starts() const;
  std::vector<double> scaled(double factor) const;
  std::vector<CurvePoint> curve_along(const std::vector<double>& bandwidth) const;

  const RegressionData& data_;
  Smoother smoother_;
  Choice choice_;
  std::unique_ptr<DirectFit> fit_;         // for numbers
  std::unique_ptr<ProductKernel> kernel_;  // for classes
  std::vector<std::size_t> varying_;       // columns
  std::vector<Range> ranges_;              // by varying column
};

/// What is reported for a number column that does not vary: it does not matter.
constexpr double kAnyBandwidth = 1.0;

}  // namespace headtorch::regress
