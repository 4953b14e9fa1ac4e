#pragma once

#include <cstdint>
#include <vector>

#include "models/options.hpp"

// A model as the engine reads it: sizes, and where its parameters are. Letters: D width, H heads, F
// feed-forward width, V symbols, C classes, T longest input, N numbers beside each token.

namespace headtorch::train::engine {

/// Values of one parameter, and the place of its gradient in a flat buffer of all; absent: null.
struct Parameter {
  const float* values = nullptr;
  std::int64_t offset = 0;

  explicit operator bool() const { return values != nullptr; }
  float* gradient(float* flat) const { return values == nullptr ? nullptr : flat + offset; }
};

struct Linear {
  Parameter weight;  ///< [out, in]
  Parameter bias;    ///< [out]
};
struct Norm {
  Parameter weight, bias;  ///< [D]; RMSNorm has no bias
};
struct Layer {
  Linear in_proj;  ///< [3 D, D]: rows q, k, v
  Linear out_proj;
  Norm norm1;
  Linear linear1, linear2;  ///< absent when F is 0
  Norm norm2;
};

struct Sizes {
  std::int64_t layers = 0, width = 0, heads = 0, hidden = 0;  ///< L, D, H, F
  std::int64_t symbols = 0, classes = 0, longest = 0;         ///< V, C, T
  std::int64_t features = 0;                                  ///< N
};

struct Model {
  Sizes sizes;
  bool causal = false;
  nn::NormPlace norm_place = nn::NormPlace::kPre;
  nn::NormKind norm_kind = nn::NormKind::kLayer;
  float norm_eps = 1e-5F;
  nn::Activation activation = nn::Activation::kGelu;
  float attention_scale = 1.0F;  ///< on q k^T
  double dropout = 0.0, attention_dropout = 0.0, label_smoothing = 0.0;

  Parameter embedding;                        ///< [V, D]
  Linear features;                            ///< [D, N], added to the embedding; absent when N is 0
  Parameter positions;                        ///< [T, D], learned; absent otherwise
  std::vector<float> position_code;           ///< [T, D], fixed; empty otherwise
  std::vector<float> turn_cosine, turn_sine;  ///< [T, E] as kernels::TurnPairs reads them; empty: no turning
  std::vector<Layer> layers;
  Norm norm;      ///< behind the last layer; absent under post-norm
  Linear output;  ///< [C, D]
};

}  // namespace headtorch::train::engine
