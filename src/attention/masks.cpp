#include "src/attention/masks.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {

at::Tensor causal_mask(std::int64_t queries, std::int64_t keys, at::Device device) {
  return at::ones({queries, keys}, at::TensorOptions(at::kBool).device(device)).tril(keys - queries);
}

at::Tensor padding_mask(const at::Tensor& lengths_B, std::int64_t keys) {
  check_shape("attention.padding_mask", "lengths", lengths_B.sizes(), {kAnySize});
  const at::Tensor position_S = at::arange(keys, lengths_B.options());
  return position_S.view({1, 1, 1, keys}) < lengths_B.view({-1, 1, 1, 1});
}

at::Tensor combine(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  return a & b;
}

at::Tensor resolve(const Mask& mask, std::int64_t queries, std::int64_t keys, at::Device device) {
  if (mask.visible.defined()) {
    const auto sizes = mask.visible.sizes();
    const auto fits = [&](std::size_t from_end, std::int64_t size) {
      return sizes.size() < from_end || sizes[sizes.size() - from_end] == 1 ||
             sizes[sizes.size() - from_end] == size;
    };
    if (mask.visible.scalar_type() != at::kBool || sizes.size() > 4 || !fits(1, keys) || !fits(2, queries)) {
      throw ShapeError(
          "attention.mask",
          fmt::format("visible is {} [{}], expected bool that broadcasts to [B, H, {}, {}]",
                      c10::toString(mask.visible.scalar_type()), fmt::join(sizes, ", "), queries, keys));
    }
  }
  if (mask.visibility == Visibility::kAll) return mask.visible;
  return combine(causal_mask(queries, keys, device), mask.visible);
}

}  // namespace headtorch::attention
