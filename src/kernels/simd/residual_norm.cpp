#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/vector.hpp"

namespace headtorch::kernels::HEADTORCH_SET {

void residual_norm_forward(const ResidualNormForward& call) {
  const Index width = call.features;
  const float share = 1.0F / static_cast<float>(width);
  const Vec scale = splat(call.dropout.scale);
  for (Index row = 0; row < call.rows; ++row) {
    const Index first = row * width;
    const float* in = call.x + first;
    Vec total = zero();
    if (call.branch != nullptr) {
      const float* x = in;
      float* out = call.sum + first;
      for (Index j = 0; j < width; j += kLanes) {
        const Index left = width - j;
        Vec branch = load_up_to(call.branch + first + j, left);
        if (call.dropout.bits != nullptr)
          branch = keep(branch * scale, bits_at(call.dropout.bits, first + j));
        const Vec value = load_up_to(x + j, left) + branch;
        store_up_to(out + j, value, left);
        total += value;
      }
      in = out;
    } else {
      for (Index j = 0; j < width; j += kLanes) total += load_up_to(in + j, width - j);
    }
    const float mean = call.mean == nullptr ? 0.0F : sum(total) * share;
    Vec squares = zero();
    for (Index j = 0; j < width; j += kLanes) {
      const Index left = width - j;
      const Vec from_mean =
          (left >= kLanes ? load(in + j) : load_first_or(in + j, left, splat(mean))) - splat(mean);
      squares += from_mean * from_mean;
    }
    const float inverse_sd = 1.0F / __builtin_sqrtf(sum(squares) * share + call.eps);
    for (Index j = 0; j < width; j += kLanes) {
      const Index left = width - j;
      Vec y =
          (load_up_to(in + j, left) - splat(mean)) * splat(inverse_sd) * load_up_to(call.weight + j, left);
      if (call.bias != nullptr) y += load_up_to(call.bias + j, left);
      store_up_to(call.y + first + j, y, left);
    }
    if (call.mean != nullptr) call.mean[row] = mean;
    call.inverse_sd[row] = inverse_sd;
  }
}

void residual_norm_backward(const ResidualNormBackward& call) {
  const Index width = call.features;
  const float share = 1.0F / static_cast<float>(width);
  const Vec scale = splat(call.dropout.scale);
  for (Index row = 0; row < call.rows; ++row) {
    const Index first = row * width;
    const Vec mean = splat(call.mean == nullptr ? 0.0F : call.mean[row]),
              inverse_sd = splat(call.inverse_sd[row]);
    Vec total = zero(), product = zero();
    for (Index j = 0; j < width; j += kLanes) {
      const Index left = width - j;
      const Vec normed = (load_up_to(call.sum + first + j, left) - mean) * inverse_sd;
      const Vec gradient = load_up_to(call.y_gradient + first + j, left);
      const Vec inner = gradient * load_up_to(call.weight + j, left);
      total += inner;
      product += inner * normed;
      store_up_to(call.weight_gradient + j, load_up_to(call.weight_gradient + j, left) + gradient * normed,
                  left);
      if (call.bias_gradient != nullptr) {
        store_up_to(call.bias_gradient + j, load_up_to(call.bias_gradient + j, left) + gradient, left);
      }
    }
    const Vec along_ones = splat(call.mean == nullptr ? 0.0F : sum(total) * share);
    const Vec along_normed = splat(sum(product) * share);
    for (Index j = 0; j < width; j += kLanes) {
      const Index left = width - j;
      const Vec normed = (load_up_to(call.sum + first + j, left) - mean) * inverse_sd;
      const Vec inner = load_up_to(call.y_gradient + first + j, left) * load_up_to(call.weight + j, left);
      Vec gradient = (inner - along_ones - normed * along_normed) * inverse_sd;
      if (call.sum_gradient != nullptr) gradient += load_up_to(call.sum_gradient + first + j, left);
      store_up_to(call.x_gradient + first + j, gradient, left);
      if (call.branch_gradient == nullptr) continue;
      if (call.dropout.bits != nullptr)
        gradient = keep(gradient * scale, bits_at(call.dropout.bits, first + j));
      store_up_to(call.branch_gradient + first + j, gradient, left);
    }
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
