#include "train/error_interval.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/core/philox.hpp"

namespace headtorch::train {
namespace {

constexpr std::size_t kSamples = 2000;

double quantile(std::vector<double>& values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

}  // namespace

ErrorInterval error_interval(std::span<const double> errors, std::int64_t block) {
  const std::int64_t n = std::ssize(errors), width = std::clamp<std::int64_t>(block, 1, n);
  std::vector<double> rmse, mae;
  Random random(0, 0x6572);
  for (std::size_t sample = 0; sample < kSamples; ++sample) {
    double squares = 0.0, sizes = 0.0;
    for (std::int64_t drawn = 0; drawn < n;) {
      std::int64_t at = random.below(n - width + 1);
      for (const std::int64_t end = std::min(drawn + width, n); drawn < end; ++drawn, ++at) {
        const double error = errors[static_cast<std::size_t>(at)];
        squares += error * error;
        sizes += std::abs(error);
      }
    }
    rmse.push_back(std::sqrt(squares / static_cast<double>(n)));
    mae.push_back(sizes / static_cast<double>(n));
  }
  return {quantile(rmse, 0.025), quantile(rmse, 0.975), quantile(mae, 0.025), quantile(mae, 0.975)};
}

}  // namespace headtorch::train
