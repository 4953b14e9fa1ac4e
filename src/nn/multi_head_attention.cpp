#include "src/nn/multi_head_attention.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "src/attention/blocked.hpp"
#include "src/attention/fixed_kernels.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"
#include "src/nn/heads.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/linear.hpp"

namespace headtorch::nn {
namespace {

using attention::Piece;

constexpr std::string_view kWhere = "nn.multi_head_attention";
constexpr std::int64_t kWeightsAtOnce = std::int64_t{1} << 21;

/// A block of R rows under a window w sees R + 2 w keys: with many more rows than 2 w it would see mostly
/// what is hidden. Fewer than 64 are not worth a block.
std::int64_t rows_at_once(const attention::Mask& mask, std::int64_t rows, std::int64_t keys) {
  const std::int64_t around = 2 * std::min(mask.window, keys) + 1;
  const std::int64_t most = std::max<std::int64_t>(around, 64), seen = std::min(keys, most + around);
  return std::clamp<std::int64_t>(kWeightsAtOnce / std::max<std::int64_t>(rows * seen, 1), 16, most);
}

}  // namespace

Piece MultiHeadAttentionImpl::Projected::positions() const {
  return {piece.first_query + shift, piece.queries, piece.first_key, piece.keys};
}

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options) : options_(options) {
  const std::int64_t d_model = options_.d_model;
  const std::int64_t head_width = features_a_head(kWhere, d_model, options_.n_heads);
  for (const auto& [head, kernel] : options_.head_kernels) {
    if (head >= 0 && head < options_.n_heads) continue;
    throw ConfigError(kWhere,
                      fmt::format("a kernel for head {}, expected 0 to {}", head, options_.n_heads - 1));
  }
  score_ = register_module("score", make_score(options_.attention, {d_model, options_.n_heads, head_width}));

  const std::int64_t parts = has_projections() ? 3 : 1;
  in_proj_weight_ = register_parameter("in_proj_weight", torch::empty({parts * d_model, d_model}));
  for (std::int64_t part = 0; part < parts; ++part) {
    const bool is_value = part == parts - 1;
    initialise(in_proj_weight_.data().narrow(0, part * d_model, d_model), options_.init,
               is_value ? 1.0 : options_.qk_gain);
  }
  if (options_.bias) in_proj_bias_ = register_parameter("in_proj_bias", torch::zeros({parts * d_model}));
  out_proj_ = register_module("out_proj", make_linear(d_model, d_model, options_.init, options_.bias));
  if (options_.attention.qk_norm && has_projections()) {
    const NormOptions norm{head_width, NormKind::kRms};
    q_norm_ = register_module("q_norm", Norm(norm));
    k_norm_ = register_module("k_norm", Norm(norm));
  }
  position_ = make_relative_position(options_.attention.position, {options_.n_heads, head_width});
  if (position_ == nullptr) return;
  register_module("position", position_);
  if (!has_projections()) {
    throw ConfigError(kWhere,
                      fmt::format("position {} with score {}, expected a score with queries and keys",
                                  kPositionNames[static_cast<std::size_t>(options_.attention.position)],
                                  kScoreNames[static_cast<std::size_t>(options_.attention.score)]));
  }
  if (options_.attention.score == Score::kLinear && acts(options_.attention.position) == Acts::kBias) {
    throw ConfigError(kWhere,
                      fmt::format("position {} adds to scores, and linear attention has none: expected "
                                  "another position or score",
                                  kPositionNames[static_cast<std::size_t>(options_.attention.position)]));
  }
}

MultiHeadAttentionResult MultiHeadAttentionImpl::forward(const torch::Tensor& x_BTD,
                                                         const AttentionCall& call) {
  check_shape(kWhere, "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.d_model});
  Projected projected = project(x_BTD, x_BTD);
  const bool goes_on = call.cache != nullptr && call.cache->v_BHSE.defined();
  turn(projected, goes_on ? call.cache->v_BHSE.size(2) : 0);
  if (goes_on) {
    if (projected.k.defined()) projected.k = torch::cat({call.cache->k, projected.k}, 2);
    projected.v_BHSE = torch::cat({call.cache->v_BHSE, projected.v_BHSE}, 2);
  }
  if (call.cache != nullptr) *call.cache = {projected.k, projected.v_BHSE};
  projected.piece = attention::whole(x_BTD.size(1), projected.v_BHSE.size(2));
  return attend(projected, call);
}

MultiHeadAttentionResult MultiHeadAttentionImpl::forward(const torch::Tensor& x_BTD,
                                                         const torch::Tensor& memory_BSD,
                                                         const AttentionCall& call) {
  check_shape(kWhere, "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.d_model});
  check_shape(kWhere, "memory", memory_BSD.sizes(), {x_BTD.size(0), kAnySize, options_.d_model});
  if (position_ != nullptr) {
    throw ConfigError(
        kWhere,
        "a position inside cross-attention, expected none: positions of two sequences do not compare");
  }
  Projected projected;
  if (call.cache != nullptr && call.cache->v_BHSE.defined()) {
    projected = {queries_of(x_BTD), call.cache->k, call.cache->v_BHSE};
  } else {
    projected = project(x_BTD, memory_BSD);
  }
  if (call.cache != nullptr) *call.cache = {projected.k, projected.v_BHSE};
  projected.piece = attention::whole(x_BTD.size(1), projected.v_BHSE.size(2));
  projected.shift = call.first_query - projected.piece.first_query;
  return attend(projected, call);
}

torch::Tensor MultiHeadAttentionImpl::scores(const torch::Tensor& x_BTD, const torch::Tensor& memory_BSD) {
  Projected projected = project(x_BTD, memory_BSD);
  turn(projected, 0);
  return compare({projected.q,
                  projected.k,
                  {},
                  {},
                  attention::whole(x_BTD.size(1), memory_BSD.size(1)),
                  x_BTD.options()});
}

bool MultiHeadAttentionImpl::drops() const {
  return is_training() &&
         (options_.attention.attention_dropout > 0.0 || options_.attention.score_dropout > 0.0);
}

Path MultiHeadAttentionImpl::path(const attention::Mask& mask, std::int64_t batch, std::int64_t queries,
                                  std::int64_t keys) const {
  PathFacts facts;
  facts.has_head_kernels = !options_.head_kernels.empty();
  facts.drops = drops();
  facts.is_biased = acts(options_.attention.position) == Acts::kBias;
  facts.is_scaled_dot = score_->dot_scale().has_value();
  facts.sums_keys = score_->attends(mask);
  if (mask.window != attention::kNoWindow) facts.window = mask.window;
  facts.rows = batch * options_.n_heads * queries;
  facts.keys = keys;
  return choose_path(facts);
}

MultiHeadAttentionResult MultiHeadAttentionImpl::attend(const Projected& projected,
                                                        const AttentionCall& call) {
  const Piece& piece = projected.piece;
  const std::int64_t batch = projected.v_BHSE.size(0);
  if (call.gates_H.defined()) check_shape(kWhere, "gates", call.gates_H.sizes(), {options_.n_heads});
  const Path way = call.edit_pattern ? Path::kExplicit : path(call.mask, batch, piece.queries, piece.keys);
  MultiHeadAttentionResult result;
  torch::Tensor heads_BHTE;
  // Asking for the weights changes no output: the other paths get theirs beside the pass.
  const bool beside = call.keep == Keep::kPattern && way != Path::kExplicit;
  switch (way) {
    case Path::kExplicit:
      heads_BHTE = written_out(projected, call, call.keep == Keep::kPattern ? &result.pattern : nullptr);
      break;
    case Path::kFused:
      heads_BHTE = attention::attend_fused(projected.q, projected.k, projected.v_BHSE, call.mask,
                                           *score_->dot_scale());
      break;
    case Path::kLinear:
      heads_BHTE = score_->attend(projected.q, projected.k, projected.v_BHSE, call.mask);
      break;
    case Path::kBlocked:
      heads_BHTE = in_blocks(projected, call);
      break;
  }
  if (beside) {
    const torch::NoGradGuard no_grad;
    const ScoreInput input = score_input(projected, call);
    result.pattern = attention::masked_softmax(compare(input), visible(projected, call, input))
                         .expand({batch, options_.n_heads, piece.queries, piece.keys});
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

torch::Tensor MultiHeadAttentionImpl::written_out(const Projected& projected, const AttentionCall& call,
                                                  torch::Tensor* pattern) {
  const Piece& piece = projected.piece;
  const std::vector<std::int64_t> shape = {projected.v_BHSE.size(0), options_.n_heads, piece.queries,
                                           piece.keys};
  const ScoreInput input = score_input(projected, call);
  torch::Tensor scores_BHTS = compare(input);
  torch::Tensor visible_BHTS = visible(projected, call, input);
  // Decisions are drawn for each example and head, also where a kernel is shared by them.
  if (drops()) scores_BHTS = scores_BHTS.expand(shape);
  if (is_training() && options_.attention.score_dropout > 0.0)
    visible_BHTS =
        attention::combine(visible_BHTS, kept(scores_BHTS, options_.attention.score_dropout, call.dropout));
  const attention::WeightEdit edit = [&](const torch::Tensor& weights) {
    torch::Tensor edited_BHTS =
        options_.head_kernels.empty() ? weights : with_kernels(weights.expand(shape), projected, call);
    if (call.edit_pattern) {
      edited_BHTS = call.edit_pattern(edited_BHTS.expand(shape));
      check_shape(kWhere, "edited pattern", edited_BHTS.sizes(), {shape[0], shape[1], shape[2], shape[3]});
    }
    if (pattern != nullptr) *pattern = edited_BHTS.expand(shape);
    return dropout(edited_BHTS, options_.attention.attention_dropout, is_training(), call.dropout);
  };
  return attention::attend_explicit(scores_BHTS, projected.v_BHSE, visible_BHTS, edit).y;
}

torch::Tensor MultiHeadAttentionImpl::in_blocks(const Projected& projected, const AttentionCall& call) {
  const Piece& piece = projected.piece;
  const std::int64_t batch = projected.v_BHSE.size(0), n_heads = options_.n_heads;
  // Where nothing is compared, queries and keys have no features.
  const auto or_nothing = [&](const torch::Tensor& given, std::int64_t length) {
    return given.defined() ? given.expand({batch, n_heads, length, given.size(-1)})
                           : torch::empty({batch, n_heads, length, 0}, projected.v_BHSE.options());
  };
  attention::BlockedInput input{.q = or_nothing(projected.q, piece.queries),
                                .k = or_nothing(projected.k, piece.keys),
                                .v = projected.v_BHSE,
                                .visibility = call.mask.visibility,
                                .window = call.mask.window};
  input.captured = score_->parameters();
  if (position_ != nullptr) {
    for (const torch::Tensor& parameter : position_->parameters()) input.captured.push_back(parameter);
  }
  input.rows_at_once = rows_at_once(call.mask, batch * n_heads, piece.keys);
  AttentionCall piece_call{.mask = call.mask, .tokens_BS = call.tokens_BS, .rows_BSF = call.rows_BSF};
  const std::optional<DropoutStream> stream =
      call.dropout == nullptr ? std::nullopt : std::optional(*call.dropout);
  constexpr std::int64_t kMasksABlock = 2;  // hidden keys, dropped weights
  const auto block_of = [rows = input.rows_at_once, first = piece.first_query](const Piece& block) {
    return kMasksABlock * ((block.first_query - first) / rows);
  };
  const auto attend_piece = [this, piece_call, stream, block_of, shift = projected.shift](
                                const Piece& block, const torch::Tensor& q, const torch::Tensor& k,
                                const torch::Tensor& v_BHsE) {
    // Each block has masks of its own, so that backward draws the same again.
    std::optional<DropoutStream> own = stream ? std::optional(stream->ahead(block_of(block))) : std::nullopt;
    AttentionCall one = piece_call;
    one.dropout = own ? &*own : nullptr;
    return written_out({q, k, v_BHsE, block, shift}, one, nullptr);
  };
  const torch::Tensor heads_BHTE = attention::attend_blocked(attend_piece, input);
  if (call.dropout != nullptr) {
    *call.dropout = stream->ahead(kMasksABlock * ((piece.queries - 1) / input.rows_at_once + 1));
  }
  return heads_BHTE;
}

torch::Tensor MultiHeadAttentionImpl::heads_of(const torch::Tensor& input_BTD, std::int64_t part) const {
  const std::int64_t d_model = options_.d_model;
  const torch::Tensor bias =
      in_proj_bias_.defined() ? in_proj_bias_.narrow(0, part * d_model, d_model) : torch::Tensor();
  return split_heads(torch::linear(input_BTD, in_proj_weight_.narrow(0, part * d_model, d_model), bias),
                     options_.n_heads);
}

/// Normed where queries and keys are, as Compares says.
torch::Tensor MultiHeadAttentionImpl::queries_of(const torch::Tensor& x_BTD) const {
  switch (compares(options_.attention.score)) {
    case Compares::kProjections: {
      const torch::Tensor q_BHTE = heads_of(x_BTD, 0);
      return q_norm_ ? q_norm_.ptr()->forward(q_BHTE) : q_BHTE;
    }
    case Compares::kInput:
      return x_BTD.unsqueeze(1);
    default:
      return {};
  }
}

MultiHeadAttentionImpl::Projected MultiHeadAttentionImpl::project(const torch::Tensor& x_BTD,
                                                                  const torch::Tensor& memory_BSD) const {
  switch (compares(options_.attention.score)) {
    case Compares::kNothing:
      return {{}, {}, heads_of(memory_BSD, 0)};
    case Compares::kInput:
      return {queries_of(x_BTD), memory_BSD.unsqueeze(1), heads_of(memory_BSD, 0)};
    case Compares::kProjections:
      break;
  }
  Projected projected;
  if (x_BTD.is_same(memory_BSD)) {
    const std::vector<torch::Tensor> qkv = torch::linear(x_BTD, in_proj_weight_, in_proj_bias_).chunk(3, -1);
    const auto split = [&](std::size_t part) { return split_heads(qkv[part], options_.n_heads); };
    projected = {split(0), split(1), split(2)};
    if (q_norm_) projected.q = q_norm_.ptr()->forward(projected.q);
  } else {
    projected = {queries_of(x_BTD), heads_of(memory_BSD, 1), heads_of(memory_BSD, 2)};
  }
  if (k_norm_) projected.k = k_norm_.ptr()->forward(projected.k);
  return projected;
}

void MultiHeadAttentionImpl::turn(Projected& projected, std::int64_t first) const {
  if (position_ == nullptr) return;
  projected.q = position_->turn(projected.q, first);
  projected.k = position_->turn(projected.k, first);
}

ScoreInput MultiHeadAttentionImpl::score_input(const Projected& projected, const AttentionCall& call) const {
  return {projected.q,   projected.k,           call.tokens_BS,
          call.rows_BSF, projected.positions(), projected.v_BHSE.options()};
}

torch::Tensor MultiHeadAttentionImpl::compare(const ScoreInput& input) {
  const torch::Tensor scores_BHTS = score_->forward(input);
  return acts(options_.attention.position) == Acts::kBias
             ? scores_BHTS + position_->bias(input.q, input.piece)
             : scores_BHTS;
}

torch::Tensor MultiHeadAttentionImpl::visible(const Projected& projected, const AttentionCall& call,
                                              const ScoreInput& input) const {
  return attention::combine(attention::resolve(call.mask, projected.piece, projected.v_BHSE.device()),
                            score_->allowed(input));
}

torch::Tensor MultiHeadAttentionImpl::with_kernels(const torch::Tensor& pattern_BHTS,
                                                   const Projected& projected,
                                                   const AttentionCall& call) const {
  const torch::Tensor allowed = attention::resolve(call.mask, projected.piece, pattern_BHTS.device());
  std::vector<torch::Tensor> heads_BTS = pattern_BHTS.unbind(1);
  for (const auto& [head, kernel] : options_.head_kernels) {
    const bool by_head = allowed.defined() && allowed.dim() > 2;
    const attention::KernelSight sight{
        by_head ? allowed.select(-3, std::min(head, allowed.size(-3) - 1)) : allowed, call.tokens_BS,
        projected.positions()};
    torch::Tensor& weights_BTS = heads_BTS[static_cast<std::size_t>(head)];
    weights_BTS = attention::head_kernel_weights(kernel, sight, weights_BTS.options().requires_grad(false))
                      .expand_as(weights_BTS);
  }
  return torch::stack(heads_BTS, 1);
}

}  // namespace headtorch::nn
