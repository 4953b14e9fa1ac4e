#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/core/head_kernel.hpp"
#include "src/core/head_place.hpp"

namespace headtorch::nn {

/// What decides where a head looks: learned queries and keys, inputs as they are (kRawDot,
/// kUntrainedGaussian), or a kernel that nothing trains.
enum class Score {
#define HEADTORCH_SCORE(id, name, compares, make) id,
#include "src/nn/scores.def"
#undef HEADTORCH_SCORE
};
inline constexpr std::string_view kScoreNames[] = {
#define HEADTORCH_SCORE(id, name, compares, make) name,
#include "src/nn/scores.def"
#undef HEADTORCH_SCORE
};

/// Where a score's queries and keys come from.
enum class Compares {
  kProjections,  ///< learned projections of the layer's input, [B, H, *, E]
  kInput,        ///< the layer's input itself, [B, 1, *, D]
  kNothing,      ///< neither exists
};
constexpr Compares compares(Score score) {
  constexpr Compares kOfScore[] = {
#define HEADTORCH_SCORE(id, name, compares, make) Compares::compares,
#include "src/nn/scores.def"
#undef HEADTORCH_SCORE
  };
  return kOfScore[static_cast<std::size_t>(score)];
}
/// Whether it has queries and keys that are learned.
constexpr bool is_learned(Score score) { return compares(score) == Compares::kProjections; }

/// Whether it compares what stands at positions of one and the same sequence.
constexpr bool is_of_one_sequence(Score score) {
  return score == Score::kSelf || score == Score::kSameToken || score == Score::kFeatureGaussian;
}

/// How a token knows where it stands.
enum class Position {
#define HEADTORCH_POSITION(id, name, acts, make) id,
#include "src/nn/positions.def"
#undef HEADTORCH_POSITION
};
inline constexpr std::string_view kPositionNames[] = {
#define HEADTORCH_POSITION(id, name, acts, make) name,
#include "src/nn/positions.def"
#undef HEADTORCH_POSITION
};

/// Where a position acts.
enum class Acts {
  kOutside,  ///< on the embedding, or not at all
  kTurn,     ///< on queries and keys
  kBias,     ///< on scores
};
constexpr Acts acts(Position position) {
  constexpr Acts kOfPosition[] = {
#define HEADTORCH_POSITION(id, name, acts, make) Acts::acts,
#include "src/nn/positions.def"
#undef HEADTORCH_POSITION
  };
  return kOfPosition[static_cast<std::size_t>(position)];
}

enum class NormPlace { kPre, kPost };
enum class NormKind { kLayer, kRms };
enum class Activation { kGelu, kRelu, kSwiglu };
enum class Init { kXavier, kHe, kNormal };

/// The factor on what dot, cosine and linear compare.
enum class ScaleKind {
  kSqrt,     ///< the score's own: 1 / sqrt(features a head), of cosine sqrt(features a head)
  kNumber,   ///< a given number
  kLearned,  ///< one learned temperature a head, from the score's own
};
struct Scale {
  ScaleKind kind = ScaleKind::kSqrt;
  double number = 0.0;  ///< under kNumber
};

/// What MultiHeadAttention compares and how. The three kernel lists hold one value, or one a head.
struct ScoreOptions {
  Score score = Score::kDot;
  Scale scale = {};
  std::vector<double> bandwidth = {1.0};      ///< in positions; of kUntrainedGaussian and kFeatureGaussian in
                                              ///< units of what they compare
  std::vector<double> kernel_slope = {1.0};   ///< 1 relative, -1 mirrored, 0 absolute
  std::vector<double> kernel_offset = {0.0};  ///< in positions
  double attention_dropout = 0.0;             ///< on weights, after the softmax
  double score_dropout = 0.0;                 ///< hides each key with this probability before the softmax
  Position position = Position::kNone;  ///< of self-attention; those added to the embedding do nothing here
  bool qk_norm = false;  ///< RMSNorm of each head's queries and keys (Henry et al. 2020, arXiv:2010.04245)
};

/// A head whose weights are a kernel in place of what it learned; its queries and keys stay unused.
struct HeadKernelPlace {
  std::int64_t layer = 0, head = 0;  ///< from 0, within the stack
  HeadKernel kernel = {};
  Stack stack = Stack::kSelf;

  bool operator==(const HeadKernelPlace&) const = default;
};

}  // namespace headtorch::nn
