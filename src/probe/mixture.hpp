#pragma once

#include <cstddef>
#include <span>
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

  /// Room for `size` values of K0, which rows may share: where it starts among all rooms.
  std::size_t room(std::size_t size);
  /// What stands there, 0 at first. The span holds until the next room or clear().
  std::span<double> k0(std::size_t start, std::size_t size) { return std::span(rooms_).subspan(start, size); }

  /// Keys side by side: key j has the mass weight * mass[j], and K0 scale times what
  /// stands at k0 + j among the rooms.
  struct Row {
    std::span<const double> mass;  ///< not copied
    double weight = 1.0;
    std::size_t k0 = 0;
    double scale = 1.0, uniform = 0.0;
  };
  void add_row(const Row& row) { rows_.push_back(row); }

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
  std::span<const double> k0_of(const Row& row) const {
    return std::span(rooms_).subspan(row.k0, row.mass.size());
  }

  std::vector<double> mass_, k0_, uniform_;
  std::vector<Row> rows_;
  std::vector<double> rooms_;
  double unnamed_mass_ = 0.0;     // where K0 is 0
  double unnamed_uniform_ = 0.0;  // sum of mass * ln uniform there
};

}  // namespace headtorch::probe
