#pragma once

namespace headtorch::regress {

/// Weight of a point at u = (x_j - x) / h, up to a factor that cancels.
enum class Kernel {
  kGaussian,      ///< exp(-u^2 / 2): h is the standard deviation
  kExponential,   ///< exp(-|u|)
  kEpanechnikov,  ///< 1 - u^2 for |u| < 1, else 0
  kBox,           ///< 1 for |u| <= 1, else 0
};

/// What is fitted around a place, with the kernel's weights: a constant (Nadaraya-Watson) or a line.
enum class Degree { kConstant, kLinear };

/// With w_j = K((x_j - x) / h):
///   constant  f(x) = sum_j w_j y_j / sum_j w_j
///   linear    f(x) = the intercept of the weighted least squares line through (x_j - x, y_j); f(x) of the
///             constant where the weighted x_j do not differ (variance <= 1e-20 of their mean square from x)
/// Where no point has a weight (a box or Epanechnikov kernel that reaches none), f(x) is the mean y of the
/// nearest points: what the Gaussian tends to, so that there is never 0/0.
struct Smoother {
  Kernel kernel = Kernel::kGaussian;
  Degree degree = Degree::kConstant;
};

}  // namespace headtorch::regress
