#include "src/attention/masks.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

constexpr std::string_view kWhere = "attention.mask";

[[noreturn]] void refuse(const at::Tensor& visible, std::string_view expected) {
  throw ShapeError(kWhere,
                   fmt::format("visible is {} [{}], expected {}", c10::toString(visible.scalar_type()),
                               fmt::join(visible.sizes(), ", "), expected));
}

std::int64_t size_from_end(const at::Tensor& visible, std::int64_t from_end) {
  return visible.dim() < from_end ? 1 : visible.size(-from_end);
}

at::Tensor by_position(const Mask& mask, const Piece& piece, at::Device device) {
  if (mask.window < 0) {
    throw ConfigError(kWhere, fmt::format("the window is {} positions, expected 0 or more", mask.window));
  }
  const std::int64_t last_query = piece.first_query + piece.queries - 1;
  const std::int64_t last_key = piece.first_key + piece.keys - 1;
  const bool holds_future = mask.visibility == Visibility::kCausal && last_key > piece.first_query;
  const bool leaves_window =
      std::max(last_query - piece.first_key, last_key - piece.first_query) > mask.window;
  if (!holds_future && !leaves_window) return {};
  const at::Tensor ahead_TS = relative_positions(piece, at::TensorOptions(at::kLong).device(device));
  return combine(holds_future ? ahead_TS <= 0 : at::Tensor(),
                 leaves_window ? ahead_TS.abs() <= mask.window : at::Tensor());
}

/// A size of 1 stands for every row or column.
at::Tensor cut(const at::Tensor& visible, std::int64_t from_end, std::int64_t first, std::int64_t count) {
  const std::int64_t size = size_from_end(visible, from_end);
  if (size == 1 || (first == 0 && count == size)) return visible;
  if (first < 0 || first + count > size) {
    refuse(visible, fmt::format("{} {} to {} inside it", from_end == 1 ? "keys" : "queries", first,
                                first + count - 1));
  }
  return visible.narrow(-from_end, first, count);
}

}  // namespace

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
    const auto fits = [&](std::int64_t from_end, std::int64_t expected) {
      const std::int64_t size = size_from_end(mask.visible, from_end);
      return size == 1 || size == expected;
    };
    if (!fits(1, keys) || !fits(2, queries)) {
      refuse(mask.visible, fmt::format("bool that broadcasts to [B, H, {}, {}]", queries, keys));
    }
  }
  return resolve(mask, whole(queries, keys), device);
}

at::Tensor resolve(const Mask& mask, const Piece& piece, at::Device device) {
  const at::Tensor near = by_position(mask, piece, device);
  if (!mask.visible.defined()) return near;
  if (mask.visible.scalar_type() != at::kBool || mask.visible.dim() > 4) {
    refuse(mask.visible, "bool that broadcasts to [B, H, T, S]");
  }
  const std::int64_t rows = size_from_end(mask.visible, 2), columns = size_from_end(mask.visible, 1);
  // One column does not say how many keys there are, so it places all of its rows or none.
  if (columns == 1 && rows != 1 && rows != piece.queries) refuse(mask.visible, "its keys written out");
  const std::int64_t first_row = columns == 1 ? 0 : piece.first_query - (columns - rows);
  return combine(near, cut(cut(mask.visible, 1, piece.first_key, piece.keys), 2, first_row, piece.queries));
}

}  // namespace headtorch::attention
