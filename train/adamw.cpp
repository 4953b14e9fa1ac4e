#include "train/adamw.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "src/core/large_pages.hpp"

namespace headtorch::train {
namespace {

/// As torch::zeros_like; on a CPU in large pages.
torch::Tensor flat_zeros_like(const torch::Tensor& flat) {
  if (!flat.is_cpu()) return torch::zeros_like(flat);
  LargePages memory = allocate_large_pages(static_cast<std::size_t>(flat.numel()) * flat.element_size());
  std::byte* const data = memory.release();
  return torch::from_blob(
      data, flat.sizes(), [data](void*) { LargePages(data).reset(); }, flat.options());
}

}  // namespace

AdamW::AdamW(torch::nn::Module& module, const AdamWOptions& options)
    : options_(options), parameters_(module.parameters()) {
  const torch::NoGradGuard no_grad;
  const auto first_kept =
      std::stable_partition(parameters_.begin(), parameters_.end(),
                            [](const torch::Tensor& parameter) { return parameter.dim() >= 2; });
  for (auto it = parameters_.begin(); it != first_kept; ++it) n_decayed_ += it->numel();

  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& parameter : parameters_) flat.push_back(parameter.detach().flatten());
  const torch::Tensor values = torch::cat(flat);
  values_ = flat_zeros_like(values).copy_(values);
  gradient_ = new_gradient();
  std::int64_t offset = 0;
  for (torch::Tensor& parameter : parameters_) {
    parameter.set_data(values_.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    // Not a view in autograd's eyes: optimizers detach gradients in place.
    parameter.mutable_grad() = torch::empty({0}, gradient_.options())
                                   .set_(gradient_.storage(), offset, parameter.sizes(), parameter.strides());
    offset += parameter.numel();
  }
  mean_ = flat_zeros_like(values_);
  square_ = flat_zeros_like(values_);
  taken_ = torch::zeros({}, values_.options().dtype(torch::kFloat32));
  if (values_.is_cpu() && values_.scalar_type() == torch::kFloat32) kernels_ = kernels::kernels();
}

torch::Tensor AdamW::new_gradient() const { return flat_zeros_like(values_); }

void AdamW::add(const std::vector<torch::Tensor>& gradients, torch::Tensor& flat) const {
  const torch::NoGradGuard no_grad;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::int64_t count = parameters_[i].numel();
    if (gradients[i].defined()) flat.narrow(0, offset, count).add_(gradients[i].reshape({-1}));
    offset += count;
  }
}

double AdamW::norm_of_gradient() const {
  if (kernels_ == nullptr) return gradient_.norm().item<double>();
  double sum = 0.0;
  kernels_->sum_of_squares({gradient_.numel(), gradient_.data_ptr<float>(), &sum});
  return std::sqrt(sum);
}

double AdamW::step(double lr, double clip, double scale) {
  const torch::NoGradGuard no_grad;
  const double norm = norm_of_gradient() * scale;
  if (!std::isfinite(norm)) return norm;
  if (clip > 0.0 && norm > clip) scale *= clip / norm;
  taken_.add_(1.0);
  if (kernels_ != nullptr) {
    update_by_kernels(lr, scale);
  } else {
    update(lr, scale, std::nullopt);
  }
  return norm;
}

torch::Tensor AdamW::step_on_device(const torch::Tensor& lr, double clip, const torch::Tensor& scale) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor norm = gradient_.norm() * scale, finite = norm.isfinite().to(torch::kFloat32);
  taken_.add_(finite);
  update(lr, clip > 0.0 ? scale * (clip / norm).clamp_max(1.0) : scale, 1.0 - finite);
  return norm;
}

void AdamW::update_by_kernels(double lr, double scale) {
  const auto range = [&](std::int64_t first, std::int64_t count, double weight_decay) {
    const auto at = [first](const torch::Tensor& buffer) { return buffer.data_ptr<float>() + first; };
    if (count == 0) return;
    kernels_->adamw_step({.count = count,
                          .values = at(values_),
                          .gradient = at(gradient_),
                          .mean = at(mean_),
                          .square = at(square_),
                          .gradient_scale = static_cast<float>(scale),
                          .lr = lr,
                          .beta1 = options_.beta1,
                          .beta2 = options_.beta2,
                          .eps = options_.eps,
                          .weight_decay = weight_decay,
                          .step = static_cast<std::int64_t>(taken_.item<float>())});
  };
  range(0, n_decayed_, options_.weight_decay);
  range(n_decayed_, values_.numel() - n_decayed_, 0.0);
}

template <typename Number>
void AdamW::update(const Number& lr, const Number& scale, const std::optional<torch::Tensor>& skip) {
  const torch::Tensor gradient = gradient_ * scale;
  const auto range = [&](std::int64_t first, std::int64_t count, double weight_decay) {
    const auto part = [&](const torch::Tensor& buffer) {
      return std::vector<torch::Tensor>{buffer.narrow(0, first, count)};
    };
    if (count == 0) return;
    at::_fused_adamw_(part(values_), part(gradient), part(mean_), part(square_), {}, {taken_}, lr,
                      options_.beta1, options_.beta2, weight_decay, options_.eps, /*amsgrad=*/false,
                      /*maximize=*/false, /*grad_scale=*/{}, skip);
  };
  range(0, n_decayed_, options_.weight_decay);
  range(n_decayed_, values_.numel() - n_decayed_, 0.0);
}

}  // namespace headtorch::train
