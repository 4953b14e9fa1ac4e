#include "src/nn/fused_blocks.hpp"

#include <torch/torch.h>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "src/kernels/kernels.hpp"

namespace headtorch::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::string_view kWhere = "nn.fused_blocks";

void check_fits(const torch::Tensor& x) {
  if (!fits_kernels(x)) throw ConfigError(kWhere, "x is not float32 on a CPU with kernels, expected that");
}

/// The bits of one mask; undefined when nothing is dropped.
torch::Tensor drawn_bits(std::int64_t count, double p, const DropoutDraw& draw) {
  if (p == 0.0) return {};
  torch::Tensor bits = torch::empty({(count + 7) / 8 + kernels::kDropoutSlack}, torch::kUInt8);
  kernels::kernels()->draw_dropout({draw.seed, draw.stream, draw.first_element, count, dropout_threshold(p),
                                    bits.data_ptr<std::uint8_t>()});
  return bits;
}

kernels::DropoutBits as_dropout(const torch::Tensor& bits, double p) {
  if (!bits.defined()) return {};
  return {bits.data_ptr<std::uint8_t>(), dropout_scale(dropout_threshold(p))};
}

torch::Tensor keep(const torch::Tensor& x, const torch::Tensor& bits, double p) {
  const torch::Tensor from = x.contiguous();
  torch::Tensor y = torch::empty_like(from);
  kernels::kernels()->apply_dropout(
      {from.numel(), from.data_ptr<float>(), as_dropout(bits, p), y.data_ptr<float>()});
  return y;
}

struct Dropout : torch::autograd::Function<Dropout> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, double p,
                               const DropoutDraw& draw) {
    const torch::Tensor bits = drawn_bits(x.numel(), p, draw);
    context->save_for_backward({bits});
    context->saved_data["p"] = p;
    return keep(x, bits, p);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {
        keep(gradients[0], context->get_saved_variables()[0], context->saved_data["p"].toDouble()), {}, {}};
  }
};

struct ActivationAndDropout : torch::autograd::Function<ActivationAndDropout> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x, Activation activation,
                               double p, const DropoutDraw& draw) {
    const torch::Tensor bits = drawn_bits(x.numel(), p, draw);
    torch::Tensor factor = x.contiguous().clone(), y = torch::empty_like(factor);
    kernels::kernels()->activation_forward(
        {activation == Activation::kGelu ? kernels::ActivationKind::kGelu : kernels::ActivationKind::kRelu,
         x.numel(), factor.data_ptr<float>(), as_dropout(bits, p), y.data_ptr<float>()});
    context->save_for_backward({factor});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gradients[0] * context->get_saved_variables()[0], {}, {}, {}};
  }
};

}  // namespace

bool fits_kernels(const torch::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == torch::kFloat32 && kernels::kernels() != nullptr;
}

torch::Tensor fused_dropout(const torch::Tensor& x, double p, const DropoutDraw& draw) {
  check_fits(x);
  return Dropout::apply(x, p, draw);
}

torch::Tensor fused_activation(const torch::Tensor& x, Activation activation, double p,
                               const DropoutDraw& draw) {
  check_fits(x);
  if (activation == Activation::kSwiglu) throw ConfigError(kWhere, "swiglu, expected gelu or relu");
  return ActivationAndDropout::apply(x, activation, p, draw);
}

}  // namespace headtorch::nn
