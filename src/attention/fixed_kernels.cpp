#include "src/attention/fixed_kernels.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/attention/per_head.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

/// Positions of the queries as a column, of the keys as a row.
struct Positions {
  at::Tensor query_T1, key_S;
};

Positions positions_of(const Piece& piece, const at::TensorOptions& options) {
  return {at::arange(piece.first_query, piece.first_query + piece.queries, options).unsqueeze(-1),
          at::arange(piece.first_key, piece.first_key + piece.keys, options)};
}

/// A Gaussian relative to its nearest visible key, so that the largest exponent is 0 at any bandwidth.
at::Tensor gaussian_weights(const HeadKernel& kernel, const Positions& at, const at::Tensor& visible_BTS) {
  const at::Tensor distance_TS = (at.key_S - (at.query_T1 * kernel.slope + kernel.offset)).abs();
  const at::Tensor nearest_BT1 =
      distance_TS.masked_fill(visible_BTS.logical_not(), std::numeric_limits<double>::infinity())
          .amin(-1, /*keepdim=*/true);
  const at::Tensor further_BTS = distance_TS - nearest_BT1;
  const at::Tensor exponent_BTS =
      further_BTS / kernel.bandwidth * ((distance_TS + nearest_BT1) / kernel.bandwidth) * -0.5;
  return masked_softmax(exponent_BTS.masked_fill(further_BTS <= 0.0, 0.0), visible_BTS);
}

/// Keys that a family of tokens names, before visibility.  @returns bool [B, T, S].
at::Tensor named_by_tokens(KernelFamily family, const Positions& at, const at::Tensor& tokens_BS) {
  const std::int64_t keys = tokens_BS.size(1), queries = at.query_T1.size(0);
  const at::Tensor same_BTS =
      tokens_BS.narrow(1, keys - queries, queries).unsqueeze(-1) == tokens_BS.unsqueeze(-2);
  const at::Tensor earlier_TS = at.key_S < at.query_T1;
  if (family == KernelFamily::kLastSameToken) return same_BTS & earlier_TS;
  if (family != KernelFamily::kInduction) return same_BTS;
  at::Tensor after_BTS = at::zeros_like(same_BTS);
  after_BTS.narrow(-1, 1, keys - 1).copy_((same_BTS & earlier_TS).narrow(-1, 0, keys - 1));
  return after_BTS;
}

at::Tensor token_weights(KernelFamily family, const Positions& at, const at::Tensor& visible_BTS,
                         const at::Tensor& tokens_BS) {
  const std::int64_t queries = at.query_T1.size(0), keys = at.key_S.size(0);
  constexpr std::string_view kWhere = "attention.head_kernel_weights";
  if (!tokens_BS.defined()) {
    throw ShapeError(kWhere, fmt::format("{} needs the tokens of the input, and works on self-attention only",
                                         family_name(family)));
  }
  check_shape(kWhere, "tokens", tokens_BS.sizes(), {kAnySize, keys});
  const at::Tensor knows_itself_BT1 =
      visible_BTS.diagonal(keys - queries, -2, -1).unsqueeze(-1);  // a padding query does not
  at::Tensor named_BTS = named_by_tokens(family, at, tokens_BS) & visible_BTS & knows_itself_BT1;
  if (family == KernelFamily::kFirstSameToken) named_BTS = named_BTS & (named_BTS.cumsum(-1) == 1);
  if (family == KernelFamily::kLastSameToken)
    named_BTS = named_BTS & (named_BTS.flip(-1).cumsum(-1).flip(-1) == 1);
  return masked_softmax(at::zeros(named_BTS.sizes(), at.key_S.options()), named_BTS);
}

}  // namespace

at::Tensor positional_log_kernel(const PositionalKernel& kernel, std::int64_t n_heads, const Piece& piece,
                                 const at::TensorOptions& options) {
  constexpr std::string_view kWhere = "attention.positional_log_kernel";
  const at::Tensor h_H11 = per_head(kWhere, "bandwidth", kernel.bandwidth, n_heads, options);
  const at::Tensor slope_H11 = per_head(kWhere, "slope", kernel.slope, n_heads, options);
  const at::Tensor offset_H11 = per_head(kWhere, "offset", kernel.offset, n_heads, options);
  const Positions at = positions_of(piece, options);
  const at::Tensor distance_HTS = at.key_S - (slope_H11 * at.query_T1 + offset_H11);
  return kernel.shape == KernelShape::kGaussian ? distance_HTS.square() / (-2.0 * h_H11.square())
                                                : distance_HTS.abs() / -h_H11;
}

at::Tensor same_token_mask(const at::Tensor& tokens_BS, const Piece& piece) {
  constexpr std::string_view kWhere = "attention.same_token_mask";
  check_shape(kWhere, "tokens", tokens_BS.sizes(), {kAnySize, kAnySize});
  const std::int64_t last = std::max(piece.first_query + piece.queries, piece.first_key + piece.keys);
  if (std::min(piece.first_query, piece.first_key) < 0 || last > tokens_BS.size(1)) {
    throw ShapeError(kWhere,
                     fmt::format("tokens of {} positions, expected those of {}", tokens_BS.size(1), last));
  }
  return (tokens_BS.narrow(1, piece.first_query, piece.queries).unsqueeze(-1) ==
          tokens_BS.narrow(1, piece.first_key, piece.keys).unsqueeze(-2))
      .unsqueeze(1);
}

at::Tensor self_mask(const Piece& piece, at::Device device) {
  return relative_positions(piece, at::TensorOptions(at::kLong).device(device)) == 0;
}

at::Tensor head_kernel_weights(const HeadKernel& kernel, const KernelSight& sight,
                               const at::TensorOptions& options) {
  kernel_row(kernel, 0, 0, {}, {});  // refuses numbers that are not allowed
  const auto positions = options.dtype(at::kDouble);
  const Positions at = positions_of(sight.piece, positions);
  const at::Tensor visible_BTS =
      at::ones({1, sight.piece.queries, sight.piece.keys}, options.dtype(at::kBool))
          .logical_and(sight.visible.defined() ? sight.visible : at::ones({1}, options.dtype(at::kBool)));
  const at::Tensor uniform_BTS = masked_softmax(at::zeros(visible_BTS.sizes(), positions), visible_BTS);
  at::Tensor weights_BTS = uniform_BTS;
  if (kernel.family == KernelFamily::kKey) {
    weights_BTS = (visible_BTS & (at.key_S == static_cast<double>(kernel.key))).to(at::kDouble);
  } else if (kernel.family == KernelFamily::kGaussian) {
    weights_BTS = gaussian_weights(kernel, at, visible_BTS);
  } else if (kernel.family != KernelFamily::kUniform) {
    weights_BTS = token_weights(kernel.family, at, visible_BTS, sight.tokens_BS);
  }
  const at::Tensor names_none_BT1 = weights_BTS.sum(-1, /*keepdim=*/true) == 0.0;
  return at::where(names_none_BT1, uniform_BTS, weights_BTS * (1.0 - kernel.eps) + uniform_BTS * kernel.eps)
      .to(options);
}

}  // namespace headtorch::attention
