#include "src/nn/score_scale.hpp"

#include <torch/torch.h>

#include <cmath>

namespace headtorch::nn {

ScoreScale::ScoreScale(torch::nn::Module& owner, const Scale& scale, double own, std::int64_t n_heads)
    : n_heads_(n_heads), number_(scale.kind == ScaleKind::kNumber ? scale.number : own) {
  if (scale.kind == ScaleKind::kLearned)
    log_scale_ = owner.register_parameter("log_scale", torch::full({n_heads}, std::log(own)));
}

torch::Tensor ScoreScale::per_head(const torch::TensorOptions& options) const {
  return log_scale_.defined() ? log_scale_.exp()
                              : torch::full({n_heads_}, number_, options.requires_grad(false));
}

std::optional<double> ScoreScale::number() const {
  return log_scale_.defined() ? std::nullopt : std::optional(number_);
}

}  // namespace headtorch::nn
