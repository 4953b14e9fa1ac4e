#include "src/nn/multi_head_attention.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/per_head.hpp"
#include "src/attention/scores.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/heads.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::nn {
namespace {

constexpr std::string_view kWhere = "nn.multi_head_attention";

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options) : options_(options) {
  const std::int64_t d_model = options_.d_model;
  const std::int64_t head_width = features_a_head(kWhere, d_model, options_.n_heads);
  const ScoreOptions& score = options_.attention;
  for (const auto* list : {&score.bandwidth, &score.kernel_slope, &score.kernel_offset}) {
    attention::per_head(kWhere, "a kernel list", *list, options_.n_heads, torch::kDouble);
  }
  for (const auto& [head, kernel] : options_.head_kernels) {
    if (head >= 0 && head < options_.n_heads) continue;
    throw ConfigError(kWhere,
                      fmt::format("a kernel for head {}, expected 0 to {}", head, options_.n_heads - 1));
  }

  const std::int64_t parts = is_learned() ? 3 : 1;
  in_proj_weight_ = register_parameter("in_proj_weight", torch::empty({parts * d_model, d_model}));
  for (std::int64_t part = 0; part < parts; ++part) {
    const bool is_value = part == parts - 1;
    initialise(in_proj_weight_.data().narrow(0, part * d_model, d_model), options_.init,
               is_value ? 1.0 : options_.qk_gain);
  }
  if (options_.bias) in_proj_bias_ = register_parameter("in_proj_bias", torch::zeros({parts * d_model}));
  out_proj_ = register_module("out_proj", make_linear(d_model, d_model, options_.init, options_.bias));

  const double sqrt_scale = 1.0 / std::sqrt(static_cast<double>(head_width));
  scale_ = score.scale.kind == ScaleKind::kNumber ? score.scale.number : sqrt_scale;
  if (is_learned() && score.scale.kind == ScaleKind::kLearned) {
    // Its logarithm is learned, so that the temperature stays positive.
    log_scale_ = register_parameter("log_scale", torch::full({options_.n_heads}, std::log(sqrt_scale)));
  }
}

MultiHeadAttentionResult MultiHeadAttentionImpl::forward(const torch::Tensor& x_BTD,
                                                         const AttentionCall& call) {
  return forward(x_BTD, x_BTD, call);
}

MultiHeadAttentionResult MultiHeadAttentionImpl::forward(const torch::Tensor& x_BTD,
                                                         const torch::Tensor& memory_BSD,
                                                         const AttentionCall& call) {
  check_shape(kWhere, "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.d_model});
  check_shape(kWhere, "memory", memory_BSD.sizes(), {x_BTD.size(0), kAnySize, options_.d_model});
  if (call.gates_H.defined()) check_shape(kWhere, "gates", call.gates_H.sizes(), {options_.n_heads});

  const std::int64_t batch = x_BTD.size(0), queries = x_BTD.size(1), keys = memory_BSD.size(1);
  const Projected projected = project(x_BTD, memory_BSD);
  MultiHeadAttentionResult result;
  torch::Tensor heads_BHTE;
  if (is_fused() && !call.edit_pattern) {
    heads_BHTE =
        attention::attend_fused(projected.q_BHTE, projected.k_BHSE, projected.v_BHSE, call.mask, scale_);
    if (call.keep == Keep::kPattern) {
      const torch::NoGradGuard no_grad;
      result.pattern = attention::masked_softmax(compare(projected, x_BTD, memory_BSD),
                                                 visible(call, queries, keys, x_BTD.device()));
    }
  } else {
    torch::Tensor scores_BHTS = compare(projected, x_BTD, memory_BSD);
    torch::Tensor visible_BHTS = visible(call, queries, keys, x_BTD.device());
    const bool drops = is_training() && options_.attention.attention_dropout > 0.0;
    if (drops || (is_training() && options_.attention.score_dropout > 0.0)) {
      // Decisions are drawn for each example and head, also where a kernel is shared by them.
      scores_BHTS = scores_BHTS.expand({batch, options_.n_heads, queries, keys});
    }
    if (is_training() && options_.attention.score_dropout > 0.0) {
      visible_BHTS =
          attention::combine(visible_BHTS, kept(scores_BHTS, options_.attention.score_dropout, call.dropout));
    }
    torch::Tensor edited_BHTS;
    const attention::WeightEdit edit = [&](const torch::Tensor& pattern) {
      edited_BHTS = options_.head_kernels.empty()
                        ? pattern
                        : with_kernels(pattern.expand({batch, options_.n_heads, queries, keys}), call);
      if (call.edit_pattern) {
        edited_BHTS = call.edit_pattern(edited_BHTS.expand({batch, options_.n_heads, queries, keys}));
        check_shape(kWhere, "edited pattern", edited_BHTS.sizes(), {batch, options_.n_heads, queries, keys});
      }
      return drops ? dropout(edited_BHTS, options_.attention.attention_dropout, true, call.dropout)
                   : edited_BHTS;
    };
    heads_BHTE = attention::attend_explicit(scores_BHTS, projected.v_BHSE, visible_BHTS, edit).y;
    if (call.keep == Keep::kPattern) {
      result.pattern = edited_BHTS.expand({batch, options_.n_heads, queries, keys});
    }
  }
  if (call.edit_heads) {
    const auto shape = heads_BHTE.sizes().vec();
    heads_BHTE = call.edit_heads(heads_BHTE);
    check_shape(kWhere, "edited heads", heads_BHTE.sizes(), {shape[0], shape[1], shape[2], shape[3]});
  }
  if (call.gates_H.defined()) heads_BHTE = heads_BHTE * call.gates_H.view({-1, 1, 1});
  result.y = out_proj_->forward(merge_heads(heads_BHTE));
  return result;
}

torch::Tensor MultiHeadAttentionImpl::scores(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD) {
  return compare(project(x_BTD, memory_BSD), x_BTD, memory_BSD);
}

bool MultiHeadAttentionImpl::is_fused() const {
  const ScoreOptions& score = options_.attention;
  const bool drops = is_training() && (score.attention_dropout > 0.0 || score.score_dropout > 0.0);
  return is_learned() && !log_scale_.defined() && !drops && options_.head_kernels.empty();
}

MultiHeadAttentionImpl::Projected MultiHeadAttentionImpl::project(const torch::Tensor& x_BTD,
                                                                  const torch::Tensor& memory_BSD) const {
  const std::int64_t d_model = options_.d_model, n_heads = options_.n_heads;
  const auto heads_of = [&](const torch::Tensor& input, std::int64_t first_row, std::int64_t rows) {
    const torch::Tensor bias =
        in_proj_bias_.defined() ? in_proj_bias_.narrow(0, first_row, rows) : torch::Tensor();
    return torch::linear(input, in_proj_weight_.narrow(0, first_row, rows), bias);
  };
  if (!is_learned()) return {{}, {}, split_heads(heads_of(memory_BSD, 0, d_model), n_heads)};
  if (x_BTD.is_same(memory_BSD)) {
    const std::vector<torch::Tensor> qkv = heads_of(x_BTD, 0, 3 * d_model).chunk(3, -1);
    return {split_heads(qkv[0], n_heads), split_heads(qkv[1], n_heads), split_heads(qkv[2], n_heads)};
  }
  const std::vector<torch::Tensor> kv = heads_of(memory_BSD, d_model, 2 * d_model).chunk(2, -1);
  return {split_heads(heads_of(x_BTD, 0, d_model), n_heads), split_heads(kv[0], n_heads),
          split_heads(kv[1], n_heads)};
}

torch::Tensor MultiHeadAttentionImpl::compare(const Projected& projected, const torch::Tensor& x_BTD,
                                              const torch::Tensor& memory_BSD) const {
  const ScoreOptions& score = options_.attention;
  const std::int64_t queries = x_BTD.size(1), keys = memory_BSD.size(1);
  const torch::TensorOptions options = x_BTD.options().requires_grad(false);
  switch (score.score) {
    case Score::kDot:
      return log_scale_.defined()
                 ? attention::scaled_dot_scores(projected.q_BHTE, projected.k_BHSE, log_scale_.exp())
                 : attention::scaled_dot_scores(projected.q_BHTE, projected.k_BHSE, scale_);
    case Score::kFixedGaussian:
    case Score::kFixedExponential: {
      const auto shape = score.score == Score::kFixedGaussian ? attention::KernelShape::kGaussian
                                                              : attention::KernelShape::kExponential;
      return attention::positional_log_kernel(
                 {shape, score.bandwidth, score.kernel_slope, score.kernel_offset}, options_.n_heads, queries,
                 keys, options)
          .unsqueeze(0);
    }
    case Score::kRawDot:
      return attention::scaled_dot_scores(x_BTD.unsqueeze(1), memory_BSD.unsqueeze(1),
                                          1.0 / std::sqrt(static_cast<double>(options_.d_model)));
    case Score::kUntrainedGaussian:
      return attention::gaussian_scores(x_BTD.detach().unsqueeze(1), memory_BSD.detach().unsqueeze(1),
                                        {1.0}) /
             attention::per_head(kWhere, "bandwidth", score.bandwidth, options_.n_heads, options).square();
    case Score::kUniform:
    case Score::kSelf:
    case Score::kSameToken:
      break;  // these three are masks alone
  }
  return torch::zeros({1, 1, queries, keys}, options);
}

torch::Tensor MultiHeadAttentionImpl::with_kernels(const torch::Tensor& pattern_BHTS,
                                                   const AttentionCall& call) const {
  const std::int64_t queries = pattern_BHTS.size(2), keys = pattern_BHTS.size(3);
  const torch::Tensor allowed = attention::resolve(call.mask, queries, keys, pattern_BHTS.device());
  std::vector<torch::Tensor> heads_BTS = pattern_BHTS.unbind(1);
  for (const auto& [head, kernel] : options_.head_kernels) {
    const bool by_head = allowed.defined() && allowed.dim() > 2;
    const attention::KernelSight sight{
        by_head ? allowed.select(-3, std::min(head, allowed.size(-3) - 1)) : allowed, call.tokens_BT, queries,
        keys};
    torch::Tensor& weights_BTS = heads_BTS[static_cast<std::size_t>(head)];
    weights_BTS = attention::head_kernel_weights(kernel, sight, weights_BTS.options().requires_grad(false))
                      .expand_as(weights_BTS);
  }
  return torch::stack(heads_BTS, 1);
}

torch::Tensor MultiHeadAttentionImpl::visible(const AttentionCall& call, std::int64_t queries,
                                              std::int64_t keys, torch::Device device) const {
  const torch::Tensor allowed = attention::resolve(call.mask, queries, keys, device);
  switch (options_.attention.score) {
    case Score::kSelf:
      return attention::combine(allowed, attention::self_mask(queries, keys, device));
    case Score::kSameToken:
      if (!call.tokens_BT.defined() || queries != keys) {
        throw ShapeError(kWhere,
                         "score same-token needs the tokens of the input, and works on self-attention only");
      }
      return attention::combine(allowed, attention::same_token_mask(call.tokens_BT));
    default:
      return allowed;
  }
}

}  // namespace headtorch::nn
