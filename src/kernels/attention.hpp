#pragma once

#include <cstddef>
#include <cstdint>

#include "src/kernels/dropout.hpp"

// Letters: B sequences, T tokens, H heads, E features a head, D = H E.

namespace headtorch::kernels {

/// Which keys each query may look at, what is added to its scores, and what dropout leaves of its weights.
struct AttentionRule {
  bool causal = false;                    ///< query i sees keys 0 .. i only
  const std::int64_t* lengths = nullptr;  ///< [B] keys before the padding; null: all
  const float* bias = nullptr;            ///< [H, T, T], added to scores; -infinity hides; null: none
  DropoutBits dropout = {};               ///< [B, H, T, T]
};

struct AttentionSizes {
  std::int64_t sequences = 0, tokens = 0, heads = 0, features = 0;  ///< B, T, H, E

  /// Floats from one row of the weights to the next: T, up to whole vectors.
  [[gnu::always_inline]] std::int64_t weight_stride() const { return (tokens + 15) / 16 * 16; }
};

/// y = dropout(softmax(scale q k^T + bias over visible keys)) v for each sequence and head; a query that sees
/// nothing gets 0.  Vaswani et al. 2017, eq. 1.
struct AttentionForward {
  AttentionSizes sizes;
  AttentionRule rule;
  float scale = 1.0F;
  const float* qkv = nullptr;  ///< [B T, 3 D]: queries, keys, values, heads side by side in each
  float* weights = nullptr;    ///< out, [B, H, T, weight_stride]: before dropout, 0 behind T
  float* y = nullptr;          ///< out, [B T, D]
  void* scratch = nullptr;     ///< attention_scratch_bytes, aligned to 64
};

struct AttentionBackward {
  AttentionSizes sizes;
  AttentionRule rule;
  float scale = 1.0F;
  const float* qkv = nullptr;
  const float* weights = nullptr;  ///< as forward left them
  const float* y_gradient = nullptr;
  float* qkv_gradient = nullptr;   ///< out, [B T, 3 D]
  float* bias_gradient = nullptr;  ///< [H, T, T], added to; null: not wanted
  void* scratch = nullptr;
};

/// Rotary positions (Su et al. 2021, arXiv:2104.09864) of queries and keys, in place: features (2 i, 2 i + 1)
/// of each head turn by the angle of (token, i); a last odd feature stays.
struct TurnPairs {
  AttentionSizes sizes;
  float* qkv = nullptr;           ///< [B T, 3 D]; values stay
  const float* cosine = nullptr;  ///< [T, E], each pair's number twice, 1 for a feature that stays
  const float* sine = nullptr;    ///< [T, E], negative first in each pair, 0 for a feature that stays
  bool backwards = false;         ///< by minus the angle: the gradient's way
};

std::size_t attention_scratch_bytes(const AttentionSizes& sizes);

}  // namespace headtorch::kernels
