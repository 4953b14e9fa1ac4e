#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/tile.hpp"
#include "src/kernels/simd/transpose.hpp"

namespace headtorch::kernels::HEADTORCH_SET {
namespace {

constexpr Index kRowsAtOnce = 32;

/// The sizes of one head, and its pieces of scratch memory: all with rows of whole vectors.
struct Head {
  Index tokens, features, width, weight_stride, feature_stride;

  explicit Head(const AttentionSizes& sizes)
      : tokens(sizes.tokens),
        features(sizes.features),
        width(sizes.heads * sizes.features),
        weight_stride(sizes.weight_stride()),
        feature_stride((sizes.features + kLanes - 1) / kLanes * kLanes) {}

  Index token_floats() const { return tokens * feature_stride; }
  Index panel_floats() const { return (tokens + kPanel - 1) / kPanel * kPanel * features; }
  Index block_floats() const { return kRowsAtOnce * weight_stride; }
};

/// Rows of one head, scaled, with zeros up to whole vectors.
HEADTORCH_INLINE void copy_rows(const Head& head, const float* in, Index stride, float scale, float* out) {
  for (Index token = 0; token < head.tokens; ++token) {
    for (Index e = 0; e < head.feature_stride; e += kLanes) {
      store(out + e, load_up_to(in + e, head.features - e) * splat(scale));
    }
    in += stride;
    out += head.feature_stride;
  }
}

HEADTORCH_INLINE Index keys_of(const AttentionRule& rule, Index sequence, Index tokens) {
  return rule.lengths == nullptr ? tokens : smaller(rule.lengths[sequence], tokens);
}

/// Maxima may lose a NaN: then it is this that tells it from -infinity.
HEADTORCH_INLINE bool all_hidden(const float* scores, Index visible) {
  for (Index j = 0; j < visible; ++j) {
    if (scores[j] != -__builtin_inff()) return false;
  }
  return true;
}

/// Softmax over the first `visible` scores of a row, in place; zeros behind them up to `stride`.
HEADTORCH_INLINE void softmax_row(float* row, Index visible, Index stride, const float* bias) {
  const Vec hidden = splat(-__builtin_inff());
  Vec most = hidden;
  for (Index j = 0; j < visible; j += kLanes) {
    const Index left = visible - j;
    Vec score = left >= kLanes ? load(row + j) : load_first_or(row + j, left, hidden);
    if (bias != nullptr) {
      score += load_up_to(bias + j, left);
      store(row + j, score);
    }
    most = larger(most, score);
  }
  const float largest_score = largest(most);
  Index done = 0;
  if (largest_score != -__builtin_inff() || !all_hidden(row, visible)) {
    Vec total = zero();
    for (Index j = 0; j < visible; j += kLanes) {
      const Index left = visible - j;
      const Vec score = left >= kLanes ? load(row + j) : load_first_or(row + j, left, hidden);
      const Vec weight = exponential(score - splat(largest_score));
      total += weight;
      store(row + j, weight);
    }
    const Vec factor = splat(1.0F / sum(total));
    for (; done < visible; done += kLanes) store(row + done, load(row + done) * factor);
  }
  for (; done < stride; done += kLanes) store(row + done, zero());
}

/// weights -> what dropout leaves of them, in rows of whole vectors.
HEADTORCH_INLINE void drop_row(const float* weights, const AttentionRule& rule, Index first_bit, Index keys,
                               float* out) {
  const Vec scale = splat(rule.dropout.scale);
  for (Index j = 0; j < keys; j += kLanes) {
    store(out + j, keep(load(weights + j) * scale, bits_at(rule.dropout.bits, first_bit + j)));
  }
}

}  // namespace

void attention_forward(const AttentionForward& call) {
  const Head head(call.sizes);
  const AttentionRule& rule = call.rule;
  const Index tokens = head.tokens, stride = 3 * head.width;
  auto* q = static_cast<float*>(call.scratch);
  float* k_panels = q + head.token_floats();
  float* v = k_panels + head.panel_floats();
  float* dropped = v + head.token_floats();
  for (Index sequence = 0; sequence < call.sizes.sequences; ++sequence) {
    const Index keys = keys_of(rule, sequence, tokens);
    for (Index h = 0; h < call.sizes.heads; ++h) {
      const float* in = call.qkv + sequence * tokens * stride + h * head.features;
      const Index place = sequence * call.sizes.heads + h;
      float* weights = call.weights + place * tokens * head.weight_stride;
      float* y = call.y + sequence * tokens * head.width + h * head.features;
      copy_rows(head, in, stride, call.scale, q);
      transpose_into_panels(in + head.width, stride, tokens, head.features, k_panels);
      copy_rows(head, in + 2 * head.width, stride, 1.0F, v);
      for (Index first = 0; first < tokens; first += kRowsAtOnce) {
        const Index rows = smaller(kRowsAtOnce, tokens - first);
        const Index seen = rule.causal ? smaller(keys, first + rows) : keys;
        float* block = weights + first * head.weight_stride;
        product_of_tiles<false>({head.features, q + first * head.feature_stride, head.feature_stride, 1,
                                 k_panels, kPanel, head.features * kPanel},
                                rows, Into::kSet, block, head.weight_stride, seen);
        for (Index r = 0; r < rows; ++r) {
          const Index i = first + r;
          softmax_row(block + r * head.weight_stride, rule.causal ? smaller(keys, i + 1) : keys,
                      head.weight_stride,
                      rule.bias == nullptr ? nullptr : rule.bias + (h * tokens + i) * tokens);
          if (rule.dropout.bits != nullptr) {
            drop_row(block + r * head.weight_stride, rule, (place * tokens + i) * tokens, seen,
                     dropped + r * head.weight_stride);
          }
        }
        product_of_tiles<false>({seen, rule.dropout.bits == nullptr ? block : dropped, head.weight_stride, 1,
                                 v, head.feature_stride},
                                rows, Into::kSet, y + first * head.width, head.width, head.features);
      }
    }
  }
}

void attention_backward(const AttentionBackward& call) {
  const Head head(call.sizes);
  const AttentionRule& rule = call.rule;
  const Index tokens = head.tokens, stride = 3 * head.width;
  auto* q = static_cast<float*>(call.scratch);
  float* k = q + head.token_floats();
  float* v_panels = k + head.token_floats();
  float* y_gradient = v_panels + head.panel_floats();
  float* gradient = y_gradient + head.token_floats();  // of weights, then of scores
  float* dropped = gradient + head.block_floats();
  for (Index sequence = 0; sequence < call.sizes.sequences; ++sequence) {
    const Index keys = keys_of(rule, sequence, tokens);
    for (Index h = 0; h < call.sizes.heads; ++h) {
      const Index offset = sequence * tokens * stride + h * head.features;
      const float* in = call.qkv + offset;
      float* q_out = call.qkv_gradient + offset;
      float* k_out = q_out + head.width;
      float* v_out = k_out + head.width;
      const Index place = sequence * call.sizes.heads + h;
      const float* weights = call.weights + place * tokens * head.weight_stride;
      copy_rows(head, in, stride, call.scale, q);
      copy_rows(head, in + head.width, stride, call.scale, k);
      transpose_into_panels(in + 2 * head.width, stride, tokens, head.features, v_panels);
      copy_rows(head, call.y_gradient + sequence * tokens * head.width + h * head.features, head.width, 1.0F,
                y_gradient);
      for (Index token = 0; token < tokens; ++token) {
        for (Index e = 0; e < head.features; e += kLanes) {
          store_up_to(k_out + token * stride + e, zero(), head.features - e);
          store_up_to(v_out + token * stride + e, zero(), head.features - e);
        }
      }
      for (Index first = 0; first < tokens; first += kRowsAtOnce) {
        const Index rows = smaller(kRowsAtOnce, tokens - first);
        const Index seen = rule.causal ? smaller(keys, first + rows) : keys;
        const float* block = weights + first * head.weight_stride;
        const float* block_gradient = y_gradient + first * head.feature_stride;
        product_of_tiles<false>(
            {head.features, block_gradient, head.feature_stride, 1, v_panels, kPanel, head.features * kPanel},
            rows, Into::kSet, gradient, head.weight_stride, seen);
        for (Index r = 0; r < rows; ++r) {
          const float* p = block + r * head.weight_stride;
          float* g = gradient + r * head.weight_stride;
          const Index first_bit = (place * tokens + first + r) * tokens;
          if (rule.dropout.bits != nullptr)
            drop_row(p, rule, first_bit, seen, dropped + r * head.weight_stride);
          Vec product = zero();
          for (Index j = 0; j < seen; j += kLanes) {
            Vec own = load_up_to(g + j, seen - j);
            if (rule.dropout.bits != nullptr) {
              own = keep(own * splat(rule.dropout.scale), bits_at(rule.dropout.bits, first_bit + j));
              store(g + j, own);
            }
            product += own * load(p + j);
          }
          const Vec mean = splat(sum(product));
          float* bias = call.bias_gradient == nullptr
                            ? nullptr
                            : call.bias_gradient + (h * tokens + first + r) * tokens;
          for (Index j = 0; j < seen; j += kLanes) {
            const Index left = seen - j;
            const Vec score = load(p + j) * (load_up_to(g + j, left) - mean);
            store(g + j, score);
            if (bias != nullptr) store_up_to(bias + j, load_up_to(bias + j, left) + score, left);
          }
        }
        const float* used = rule.dropout.bits == nullptr ? block : dropped;
        product_of_tiles<true>({rows, used, 1, head.weight_stride, block_gradient, head.feature_stride}, seen,
                               Into::kAdd, v_out, stride, head.features);
        product_of_tiles<false>({seen, gradient, head.weight_stride, 1, k, head.feature_stride}, rows,
                                Into::kSet, q_out + first * stride, stride, head.features);
        product_of_tiles<true>(
            {rows, gradient, 1, head.weight_stride, q + first * head.feature_stride, head.feature_stride},
            seen, Into::kAdd, k_out, stride, head.features);
      }
    }
  }
}

void turn_pairs(const TurnPairs& call) {
  const Index features = call.sizes.features, width = call.sizes.heads * features;
  const Vec direction = splat(call.backwards ? -1.0F : 1.0F);
  for (Index row = 0; row < call.sizes.sequences * call.sizes.tokens; ++row) {
    const Index angles = row % call.sizes.tokens * features;
    for (Index head = 0; head < 2 * call.sizes.heads; ++head) {  // of queries, then of keys
      float* x = call.qkv + row * 3 * width + head * features;
      for (Index e = 0; e < features; e += kLanes) {
        const Index left = features - e;
        const Vec own = load_up_to(x + e, left);
        const Vec turned = own * load_up_to(call.cosine + angles + e, left) +
                           swap_pairs(own) * direction * load_up_to(call.sine + angles + e, left);
        store_up_to(x + e, turned, left);
      }
    }
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
