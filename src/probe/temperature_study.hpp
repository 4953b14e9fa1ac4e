#pragma once

#include <cstdint>
#include <vector>

#include "src/probe/scale_study.hpp"

// What a temperature t does to softmax and to linear attention (src/attention/linear_attention.hpp), for q
// and k of independent standard normal entries. With s = 1 / (t sqrt(d)):
//   softmax: weights exp(s q . k); linear: phi(sqrt(s) q) . phi(sqrt(s) k), phi(x) = elu(x) + 1; both over
//   their row's sum.

namespace headtorch::probe {

struct TemperaturePoint {
  double temperature = 1.0;
  Estimate softmax_entropy, linear_entropy;  ///< nats
};

struct TemperatureStudy {
  std::int64_t d = 64, n = 64;
  std::vector<TemperaturePoint> points;
  /// The linear entropy that t -> 0 tends to: weights max(q, 0) . max(k, 0), in which s cancels.
  Estimate linear_limit;
};

struct TemperatureOptions {
  std::int64_t d = 64, n = 64;
  std::vector<double> temperatures = {0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0};
  std::int64_t samples = 500;
  std::uint64_t seed = 1;
};

/// All temperatures see the same draws.  @throws ConfigError for samples below 2.
TemperatureStudy study_temperature(const TemperatureOptions& options);

}  // namespace headtorch::probe
