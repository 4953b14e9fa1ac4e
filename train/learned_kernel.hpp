#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Kernel regression whose weights are attention's and are learned: f(x) = sum_j w_j(x) y_j, w = softmax of
// scores of x against the rows x_j. Everything in float64.

namespace headtorch::train {

/// Scores of a query x against a row x_j. z: the columns at mean 0 and sd 1 (population) of the rows fitted.
enum class KernelForm {
  kGaussian,     ///< -sum_c (x_c - x_jc)^2 / (2 h_c^2); one h a column is learned
  kDot,          ///< x.x_j of the columns as they are; nothing is learned
  kStandardDot,  ///< z.z_j; nothing is learned
  kUnitDot,      ///< u.u_j, u = (1, z) / |(1, z)|: the 1 keeps one column from being its sign alone
  kShared,       ///< W p . W p_j / sqrt(E), p = (1, z, z^2)
  kLinear,       ///< W_q p . W_k p_j / sqrt(E), p = (1, z): can only tilt the weights, exp(a(x) z_j)
  kSeparate,     ///< the same, p = (1, z, z^2): a Gaussian in z_j whose centre and width depend on x
  kNetwork,      ///< the same, p = (1, z, gelu(W_1 (1, z))) with kHiddenUnits units
  kHeads,        ///< H times kSeparate; f = y_mean + sum_h c_h (sum_j w_jh y_j - y_mean), c learned
};

inline constexpr std::int64_t kHiddenUnits = 8;

/// n rows of `columns` numbers and an outcome.
struct NumberRows {
  std::int64_t columns = 1;
  std::vector<double> x;  ///< [n, columns]
  std::vector<double> y;  ///< [n]

  std::int64_t n() const { return std::ssize(y); }
};

/// Mean and population sd of the rows that a kernel was made for; the sd of what does not vary is 1.
struct Scaling {
  std::vector<double> x_mean, x_sd;
  double y_mean = 0.0, y_sd = 1.0;
};
Scaling scaling_of(const NumberRows& rows);

struct LearnedKernel {
  KernelForm form = KernelForm::kGaussian;
  std::int64_t width = 4;    ///< E, of q and k
  std::int64_t n_heads = 1;  ///< H; 1 but for kHeads
  Scaling scaling;
  /// kGaussian: ln(h / sd) a column. Otherwise in this order: W_1 [units, 1 + columns], W_q [H, E, features],
  /// W_k likewise (kShared: none), c [H] (kHeads alone).
  std::vector<double> parameters;
};

/// With starting values: h = sd; matrices normal with sd 1 / sqrt(features), c = 1 / H.
LearnedKernel new_kernel(KernelForm form, std::int64_t width, const NumberRows& rows, std::uint64_t seed);

/// f_{-i}(x_i) of each row: the diagonal is masked before the softmax, so that y_i has no part in it.
std::vector<double> left_out_values(const LearnedKernel& kernel, const NumberRows& rows);

struct LossAndGradient {
  double loss = 0.0;             ///< mean (y_i - f_{-i}(x_i))^2
  std::vector<double> gradient;  ///< by parameter
};
LossAndGradient leave_one_out_loss(const LearnedKernel& kernel, const NumberRows& rows);

/// Full batches up to 362 rows; beyond, each step looks at as many rows as give 131072 scores.
struct FitOptions {
  std::int64_t steps = 300;
  double rate = 0.2;  ///< of Adam, falling to 0 along a cosine
  std::uint64_t seed = 0;
};
/// The kernel with the parameters that gradients on leave_one_out_loss lead to from its own: by Adam (Kingma
/// and Ba 2015, arXiv:1412.6980) without weight decay. The Gaussian's few parameters by L-BFGS on full
/// batches, which ends in a minimum near its start. On one thread: others may fit beside it.
LearnedKernel fitted(LearnedKernel kernel, const NumberRows& rows, const FitOptions& options);

/// f at each place.  @param places [n_places, columns].
std::vector<double> predict(const LearnedKernel& kernel, const NumberRows& rows,
                            std::span<const double> places);

/// Row-normalised weights [n_places, n_keys]; of several heads sum_h c_h w_h.
/// @param keys, places [.., columns].
std::vector<double> weights(const LearnedKernel& kernel, std::span<const double> keys,
                            std::span<const double> places);

/// K4: largest difference, over all pairs of rows, of softmax_j((q.k_j - |k_j|^2 / 2) / h^2) from the
/// Gaussian's weights, q = k = z; h in units of sd.
double identity_difference(const NumberRows& rows, double bandwidth);

}  // namespace headtorch::train
