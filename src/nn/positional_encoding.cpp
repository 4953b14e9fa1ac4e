#include "src/nn/positional_encoding.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::nn {

torch::Tensor sinusoidal_positions(std::int64_t first, std::int64_t length, std::int64_t d_model,
                                   const torch::TensorOptions& options) {
  // In double: the largest angles lose their digits in float32.
  const auto exact = options.dtype(torch::kDouble);
  const torch::Tensor channel_D = torch::arange(d_model, options.dtype(torch::kLong));
  const torch::Tensor exponent_D =
      channel_D.div(2, "floor").to(torch::kDouble) * (2.0 / static_cast<double>(d_model));
  const torch::Tensor position_T1 = torch::arange(first, first + length, exact).unsqueeze(-1);
  const torch::Tensor angle_TD = position_T1 * torch::exp(exponent_D * -std::log(10000.0));
  return torch::where((channel_D % 2) == 0, angle_TD.sin(), angle_TD.cos()).to(options);
}

PositionalEncodingImpl::PositionalEncodingImpl(const PositionalEncodingOptions& options) : options_(options) {
  if (options_.position == Position::kLearned) {
    table_ = register_parameter(
        "table", torch::empty({options_.max_len, options_.d_model}).normal_(0.0, options_.embedding_sd));
  }
  if (options_.norm) {
    norm_ = register_module("norm", Norm(NormOptions{options_.d_model}));
  }
}

torch::Tensor PositionalEncodingImpl::forward(const torch::Tensor& x_BTD, std::int64_t first) {
  constexpr std::string_view kWhere = "nn.positional_encoding";
  check_shape(kWhere, "x", x_BTD.sizes(), {kAnySize, kAnySize, options_.d_model});
  if (first < 0) throw ShapeError(kWhere, fmt::format("the first position is {}, expected 0 or more", first));
  const std::int64_t length = x_BTD.size(1);
  torch::Tensor y_BTD = x_BTD;
  switch (options_.position) {
    case Position::kSinusoidal: {
      const double scale = options_.embedding_sd / std::sqrt(0.5);
      y_BTD = x_BTD + scale * sinusoidal_positions(first, length, options_.d_model,
                                                   x_BTD.options().requires_grad(false));
      break;
    }
    case Position::kLearned:
      if (first + length > options_.max_len) {
        throw ShapeError(kWhere,
                         fmt::format("the input has {} tokens, the table of learned positions ends at {}",
                                     first + length, options_.max_len));
      }
      y_BTD = x_BTD + table_.narrow(0, first, length);
      break;
    default:
      break;  // none, or one that acts inside attention
  }
  return norm_ ? norm_->forward(y_BTD) : y_BTD;
}

}  // namespace headtorch::nn
