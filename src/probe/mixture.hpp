#pragma once

#include <vector>

namespace headtorch::probe {

/// Relative tolerance of an eps that is reported.
inline constexpr double kTightEps = 1e-10;

/// What a family K = (1 - eps) K0 + eps U leaves unexplained, as a function of eps:
/// loss = -sum over rows and keys of w A ln K. Convex in eps.
class Mixture {
 public:
  void clear();
  /// Weight `mass` (w A, summed over inputs) on keys where K0 is `k0` and uniform weights give `uniform`.
  void add(double mass, double k0, double uniform);

  double loss(double eps) const;

  struct Best {
    double eps = 1.0, loss = 0.0;
  };
  /// The smallest loss over eps in [kLeastEps, 1], eps to `tolerance` relative, searched from `start`.
  Best best(double tolerance, double start = 0.1) const;

  static constexpr double kLeastEps = 1e-6;

 private:
  struct Slope {
    double first = 0.0, second = 0.0;
  };
  Slope slope(double eps) const;

  std::vector<double> mass_, k0_, uniform_;
  double unnamed_mass_ = 0.0;     // where K0 is 0
  double unnamed_uniform_ = 0.0;  // sum of mass * ln uniform there
};

}  // namespace headtorch::probe
