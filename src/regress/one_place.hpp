#pragma once

#include <cstddef>
#include <vector>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

namespace headtorch::regress {

/// Internal to this layer: the fit at one place from its neighbours themselves, weights relative to the
/// nearest one's, so that it is right where all weights underflow. Neighbours below exp(-60) of the nearest
/// (for a line exp(-120)) are left out. Takes time by the number of neighbours.
class OnePlace {
 public:
  struct Fit {
    double value = 0.0;    ///< f(x), y as in Sample::y()
    double slope = 0.0;    ///< df / d ln h; set for the Gaussian of degree kConstant
    double own = 0.0;      ///< l of a point at the place itself, f = sum_j l_j y_j
    double squares = 0.0;  ///< sum_j l_j^2
  };

  OnePlace(const Sample& sample, const Smoother& smoother, double bandwidth)
      : x_(sample.x()), y_(sample.y()), smoother_(smoother), h_(bandwidth) {}

  Fit at(double place);
  /// At point i of the sample, which is left out. Needs a second point.
  Fit without(std::size_t i);

 private:
  struct Neighbour {
    double u;  ///< (x_j - x of the nearest) / h: differences far from the place keep their digits
    double y, weight;
    double excess;  ///< ln of the nearest's weight over this one's
  };

  /// Points 0 .. left-1 and right .. n-1.
  Fit fit(double place, std::size_t left, std::size_t right);
  void gather(double place, std::size_t left, std::size_t right);
  double excess(double distance, double nearest) const;
  bool reaches(double distance, double nearest) const;

  std::span<const double> x_, y_;
  Smoother smoother_;
  double h_, origin_ = 0.0;
  std::vector<Neighbour> neighbours_;
};

}  // namespace headtorch::regress
