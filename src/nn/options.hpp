#pragma once

#include <cstdint>
#include <vector>

#include "src/core/head_kernel.hpp"

namespace headtorch::nn {

/// What is compared: learned queries with learned keys (kDot), inputs as they are (kRawDot), or a kernel that
/// nothing trains.
enum class Score {
  kDot,                ///< q.k * scale
  kUniform,            ///< every visible key alike
  kSelf,               ///< the own position only: no mixing
  kFixedGaussian,      ///< exp(-(j - (slope i + offset))^2 / 2 bandwidth^2) over positions
  kFixedExponential,   ///< exp(-|j - (slope i + offset)| / bandwidth) over positions
  kSameToken,          ///< uniform over visible keys that hold the query's token
  kUntrainedGaussian,  ///< Gaussian on the layer's own input, detached: exp(-|x_i - x_j|^2 / 2 bandwidth^2)
  kRawDot,  ///< x_i . x_j / sqrt(D) on the layer's own input: no queries and keys, trained through x
};

enum class Position { kNone, kSinusoidal, kLearned };
enum class NormPlace { kPre, kPost };
enum class Activation { kGelu, kRelu };
enum class Init { kXavier, kHe, kNormal };

/// The factor on q.k.
enum class ScaleKind {
  kSqrt,     ///< 1 / sqrt(features a head)
  kNumber,   ///< a given number
  kLearned,  ///< one learned temperature a head, from 1 / sqrt(features a head)
};
struct Scale {
  ScaleKind kind = ScaleKind::kSqrt;
  double number = 0.0;  ///< under kNumber
};

/// What MultiHeadAttention compares and how. The three kernel lists hold one value, or one a head.
struct ScoreOptions {
  Score score = Score::kDot;
  Scale scale = {};
  std::vector<double> bandwidth = {1.0};      ///< in positions; under kUntrainedGaussian in units of x
  std::vector<double> kernel_slope = {1.0};   ///< 1 relative, -1 mirrored, 0 absolute
  std::vector<double> kernel_offset = {0.0};  ///< in positions
  double attention_dropout = 0.0;             ///< on weights, after the softmax
  double score_dropout = 0.0;                 ///< hides each key with this probability before the softmax
};

/// A head whose weights are a kernel in place of what it learned; its queries and keys stay unused.
struct HeadKernelPlace {
  std::int64_t layer = 0, head = 0;  ///< from 0
  HeadKernel kernel = {};

  bool operator==(const HeadKernelPlace&) const = default;
};

}  // namespace headtorch::nn
