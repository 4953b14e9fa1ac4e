#pragma once

#include <span>
#include <vector>

#include "src/regress/kernel.hpp"
#include "src/regress/sample.hpp"

// Internal to this layer: the sums over a place's neighbours that every fit is made of, for all places at
// once in far less than places x points.

namespace headtorch::regress {

/// Whether a place that is a point of the sample is its own neighbour.
enum class Own { kCounted, kLeftOut };

/// Which sums are needed: s0, t0 only, or all.
enum class Moments { kZeroth, kAll };

struct SumsRequest {
  const Sample* sample = nullptr;
  double bandwidth = 1.0;          ///< h, in units of x
  std::span<const double> places;  ///< ascending; with kLeftOut the sample's x
  Own own = Own::kCounted;
  Moments moments = Moments::kZeroth;
};

/// By place x: s_k = sum_j w_j u_j^k and t_k = sum_j w_j u_j^k y_j, u_j = (x_j - x) / h, w_j = K(u_j), y as
/// in Sample::y(). At least one per place; the vectors may be longer. The exponential kernel's weights are
/// divided by the nearest neighbour's. t2 is only set by the Gaussian.
struct LocalSums {
  explicit LocalSums(const SumsRequest& request);
  std::vector<double> s0, t0;
  std::vector<double> s1, s2, t1, t2;  ///< empty under Moments::kZeroth
  /// s0 at or below this may have lost digits: such a place is computed from its neighbours themselves.
  std::vector<double> least_s0;
};

/// The Gaussian's. Points are put in blocks no wider than 1.5 h. With a = (x - c) / h and b = (x_j - c) / h
/// around a block's centre c, exp(-(a - b)^2 / 2) = exp(-a^2 / 2) sum_k a^k exp(-b^2 / 2) b^k / k!, |b| <=
/// 3/4: 32 terms leave less than 6e-23 of a point's full weight. Blocks beyond 9.7 h count for nothing:
/// weights below 4e-21. About 14 blocks a place whatever h and n.  Source: Greengard and Strain 1991, in one
/// dimension.
LocalSums gaussian_sums(const SumsRequest& request);

/// The exponential's, by two recursions: from a point to the next all weights shrink by the same factor.
LocalSums exponential_sums(const SumsRequest& request);

/// Those of the box and Epanechnikov: window sums as differences of running sums of u^k, in blocks no wider
/// than h around their centres (so that powers stay small) and in twice double's digits.
LocalSums window_sums(const SumsRequest& request, Kernel kernel);
/// Those of Epanechnikov's square, (1 - u^2)^2.
LocalSums squared_epanechnikov_sums(const SumsRequest& request);

LocalSums local_sums(const SumsRequest& request, Kernel kernel);

/// s_k of the squared weights, sum_j w_j^2 u_j^k: a Gaussian squared is one of h / sqrt(2), an exponential
/// one of h / 2, a box itself. t and least_s0 are those of such a kernel.
LocalSums squared_sums(const SumsRequest& request, Kernel kernel);

/// Runs of neighbouring points whose x differ by at most `width`.
struct Block {
  std::size_t first = 0, stop = 0;
  double centre = 0.0;
};
std::vector<Block> make_blocks(std::span<const double> x, double width);

}  // namespace headtorch::regress
