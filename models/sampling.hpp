#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/core/philox.hpp"

namespace headtorch::models {

/// How the next token is chosen. What is cut, is cut in this order: temperature, top_k, top_p.
struct SamplingOptions {
  double temperature = 1.0;                ///< divides the logits; 0: the most probable token, always
  std::optional<std::int64_t> top_k = {};  ///< only the k most probable tokens (Fan et al. 2018)
  double top_p = 1.0;  ///< only the fewest that together have this probability, after top_k; 1: all
};

/// @throws ConfigError unless temperature is finite and >= 0, top_k >= 1 and 0 < top_p <= 1.
void check(const SamplingOptions& options);

/// softmax(logits / temperature), 0 for tokens cut off, the rest divided by their sum. Among equal logits the
/// lower tokens are the more probable ones, so that exactly top_k are left and temperature 0 is top_k = 1.
/// Top-k: Fan et al. 2018, arXiv:1805.04833; top-p: Holtzman et al. 2020, arXiv:1904.09751, 3.1.
/// @throws as check; DataError unless logits are finite or minus infinity, and one is finite.
std::vector<double> probabilities(std::span<const double> logits, const SamplingOptions& options);

/// ln softmax(logits)[token]: what the model itself says, with nothing cut.
double log_probability(std::span<const double> logits, std::int64_t token);

/// One token, drawn with these probabilities by one number of `random`.
std::int64_t sample(std::span<const double> probabilities, Random& random);

}  // namespace headtorch::models
