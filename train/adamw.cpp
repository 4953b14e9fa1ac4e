#include "train/adamw.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace headtorch::train {

AdamW::AdamW(torch::nn::Module& module, const AdamWOptions& options)
    : options_(options), parameters_(module.parameters()) {
  const torch::NoGradGuard no_grad;
  const auto first_kept =
      std::stable_partition(parameters_.begin(), parameters_.end(),
                            [](const torch::Tensor& parameter) { return parameter.dim() >= 2; });
  for (auto it = parameters_.begin(); it != first_kept; ++it) n_decayed_ += it->numel();

  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : parameters_) flat.push_back(parameter.detach().flatten());
  values_ = torch::cat(flat);
  std::int64_t offset = 0;
  for (torch::Tensor& parameter : parameters_) {
    parameter.set_data(values_.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    offset += parameter.numel();
  }
  gradient_ = torch::zeros_like(values_);
  mean_ = torch::zeros_like(values_);
  square_ = torch::zeros_like(values_);
  taken_ = torch::zeros({}, values_.options().dtype(torch::kFloat32));
}

void AdamW::flatten(const std::vector<torch::Tensor>& gradients, torch::Tensor& flat) const {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor place = flat.narrow(0, offset, parameters_[i].numel());
    if (gradients[i].defined()) {
      place.copy_(gradients[i].reshape({-1}));
    } else {
      place.zero_();
    }
    offset += parameters_[i].numel();
  }
}

double AdamW::step(double lr, double clip) {
  const torch::NoGradGuard no_grad;
  const double norm = gradient_.norm().item<double>();
  if (!std::isfinite(norm)) return norm;
  if (clip > 0.0 && norm > clip) gradient_.mul_(clip / norm);
  taken_.add_(1.0);
  const auto update = [&](std::int64_t first, std::int64_t count, double decay) {
    const auto part = [&](torch::Tensor& buffer) {
      return std::vector<torch::Tensor>{buffer.narrow(0, first, count)};
    };
    if (count > 0) {
      at::_fused_adamw_(part(values_), part(gradient_), part(mean_), part(square_), {}, {taken_}, lr,
                        options_.beta1, options_.beta2, decay, options_.eps, /*amsgrad=*/false,
                        /*maximize=*/false);
    }
  };
  update(0, n_decayed_, options_.weight_decay);
  update(n_decayed_, values_.numel() - n_decayed_, 0.0);
  return norm;
}

}  // namespace headtorch::train
