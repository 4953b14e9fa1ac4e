#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/regress/kernel.hpp"

// Kernel regression as a person asks for it: predictors of numbers and categories, an outcome that is a
// number or a class, a bandwidth that is given or chosen.

namespace headtorch::regress {

/// A column: numbers, or categories 0 .. n_categories-1.
struct Variable {
  std::vector<double> numbers = {};
  std::vector<std::int64_t> codes = {};
  std::int64_t n_categories = 0;  ///< 0: numbers
};

/// n rows. The kernel of several predictors is the product of theirs, each with a bandwidth of its own; that
/// of a category is Aitchison and Aitken's: 1 - l on the same category, l / (c - 1) on another, its bandwidth
/// l in [0, (c-1)/c]; 0 stands for its limit.  Source: Li and Racine 2003. Where no row has a weight (a box
/// or Epanechnikov kernel), the nearest have: those that a common factor on all bandwidths would reach first.
/// A line is fitted in the number columns; categories enter through the weights.
struct RegressionData {
  std::vector<Variable> x;
  Variable y;
};

enum class Choice {
  kGiven,
  kCrossValidation,  ///< least leave-one-out error: squares, or -ln p of the class
  kAicc,             ///< Hurvich, Simonoff and Tsai 1998; numbers only
  kRuleOfThumb,      ///< see rules.hpp; columns of numbers
  kPlugIn,           ///< Ruppert, Sheather and Wand 1995, see rules.hpp; one column and an outcome of numbers
  kSweep,            ///< the best of `sweep`; one column of numbers
};

struct Sweep {
  double low = 0.0, high = 0.0;
  std::int64_t n = 0;  ///< values from low to high, evenly spaced in their logarithm
};

struct BandwidthRequest {
  Choice choice = Choice::kCrossValidation;
  std::vector<double> given = {};  ///< kGiven: one a column
  Sweep sweep = {};                ///< kSweep, one column
};

struct Minimum {
  std::vector<double> bandwidth = {};
  double score = 0.0;
  bool is_at_edge = false;  ///< of the range searched
};

struct CurvePoint {
  double bandwidth = 0.0;  ///< with several columns: the factor on the chosen ones
  double score = 0.0;      ///< NaN where there is none
};

struct ChosenBandwidth {
  std::vector<double> bandwidth = {};  ///< one a column
  double score = 0.0;                  ///< of what was minimised; of leave-one-out where nothing was
  /// Every local minimum found, the best first; empty where nothing was searched.
  std::vector<Minimum> minima = {};
  std::vector<CurvePoint> curve = {};  ///< ascending; empty where nothing was searched
  bool is_at_edge = false;
  std::vector<std::size_t> edges = {};  ///< columns whose bandwidth ends on the edge of what was searched
};

/// One column of numbers: a scan in ln h from the less of 0.002 ranges of x and 4 median gaps to 1000 ranges,
/// every minimum made exact (scan.hpp), in O(n) a score for an outcome of numbers. Otherwise from several
/// starts (product_search.hpp), 0.001 to 1000 ranges a number column, in O(n^2 d) a score: minima are the
/// best found. A column that is best smoothed out ends on its ceiling, in `edges`. A column that does not
/// vary has no part: 1 is reported for numbers, 0 for a category, and no edge. Where all are so the fit is
/// the mean, and nothing is searched. Where y does not vary: the ceiling, on the edge.
/// @throws ConfigError for a choice that does not fit the data or a bandwidth that is not allowed; DataError
/// for fewer than two rows, a number that is not finite, a code out of range, and as plug_in.
ChosenBandwidth choose_bandwidth(const RegressionData& data, const Smoother& smoother,
                                 const BandwidthRequest& request);

/// One bandwidth for all number columns once each is divided by its sd (n in the denominator; a constant
/// column has no part): least leave-one-out error, of a constant. `bandwidth`, `minima` and `curve` hold that
/// one number, in sds; a column's own is it times the sd. All columns constant: 1, and nothing searched.
/// @throws ConfigError for a column or an outcome of categories; as choose_bandwidth.
ChosenBandwidth choose_common_bandwidth(const RegressionData& data, Kernel kernel);

/// In sample and by leave-one-out, of an outcome that is a number. S is the smoother's matrix: fitted = S y.
struct RegressionStatistics {
  std::vector<double> fitted, left_out;  ///< f(x_i), f_{-i}(x_i), by row
  double cv = 0.0;                       ///< mean (y_i - f_{-i}(x_i))^2
  double rmse_loo = 0.0, loo_r2 = 0.0;   ///< 1 - n cv / SST
  double r2 = 0.0;                       ///< 1 - SSE / SST
  double r2_corr = 0.0;                  ///< squared correlation of y and fitted, about mean(y): np's R2; NaN
                                         ///< where fitted are one number
  double effective_df = 0.0;             ///< tr S
  std::optional<double> aicc;            ///< absent where tr S + 2 >= n
  double residual_sd = 0.0;              ///< sqrt(SSE / (n - 2 tr S + tr S S')); NaN where that is not > 0
};
RegressionStatistics regression_statistics(const RegressionData& data, const Smoother& smoother,
                                           const std::vector<double>& bandwidth);

/// f at a place with its pointwise 95 % interval: value -+ 1.96 sqrt(sum_j l_j^2 e_j^2), l_j the weights of
/// f, e_j the leave-one-out residuals (HC3). It is about f's mean, bias not counted, and not about a new y.
struct Estimate {
  double value = 0.0, low = 0.0, high = 0.0;
  double effective_n = 0.0;  ///< 1 / sum_j w_j^2, w the kernel's weights: points that take part
};
/// @param places one variable a column, as many rows as places.
std::vector<Estimate> estimate(const RegressionData& data, const Smoother& smoother,
                               const std::vector<double>& bandwidth, const std::vector<Variable>& places);

/// Row-normalised weights [places, n], in row order.
std::vector<double> kernel_weights(const RegressionData& data, Kernel kernel,
                                   const std::vector<double>& bandwidth, const std::vector<Variable>& places);

/// p(class | x) = sum_j w_j [y_j = class] at each place, [places, classes].
std::vector<double> class_probabilities(const RegressionData& data, Kernel kernel,
                                        const std::vector<double>& bandwidth,
                                        const std::vector<Variable>& places);

/// What a smaller probability counts as in a logarithm.
inline constexpr double kLeastProbability = 1e-15;

/// By leave-one-out; logarithms of at least kLeastProbability.
struct ClassStatistics {
  std::vector<double> left_out;  ///< [n, classes]
  double log_loss = 0.0, accuracy = 0.0;
  double log_loss_of_shares = 0.0,
         accuracy_of_shares = 0.0;  ///< of each class's share alone, left out likewise
  double effective_df = 0.0;        ///< tr S
};
ClassStatistics class_statistics(const RegressionData& data, Kernel kernel,
                                 const std::vector<double>& bandwidth);

}  // namespace headtorch::regress
