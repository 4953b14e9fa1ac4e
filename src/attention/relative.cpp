#include "src/attention/relative.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "src/attention/per_head.hpp"
#include "src/core/error.hpp"
#include "src/core/shape.hpp"

namespace headtorch::attention {
namespace {

std::vector<double> slopes_of_power_of_two(std::int64_t n_heads) {
  std::vector<double> slopes;
  for (std::int64_t n = 1; n <= n_heads; ++n) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(n) / static_cast<double>(n_heads)));
  }
  return slopes;
}

/// Buckets [max_distance + 1] of the distances 0 .. max_distance among `count` of one direction.
at::Tensor buckets_of(std::int64_t count, std::int64_t max_distance, at::Device device) {
  const std::int64_t exact = count / 2;
  const double nearest = static_cast<double>(exact);
  const at::Tensor distance = at::arange(max_distance + 1, at::TensorOptions(at::kDouble).device(device));
  const at::Tensor share = (distance / nearest).log() / std::log(static_cast<double>(max_distance) / nearest);
  // A distance on the border belongs to the further bucket, also when its logarithm was rounded down.
  const at::Tensor further = share * static_cast<double>(count - exact) + 1e-9;
  return at::where(distance < nearest, distance, (further.floor() + nearest).clamp_max(count - 1))
      .to(at::kLong);
}

void check_window(std::string_view name, const at::Tensor& x, const Piece& piece) {
  const bool fits = x.dim() >= 2 && x.size(-1) == 1 && (x.size(-2) == 1 || x.size(-2) == piece.queries);
  if (fits) return;
  const auto rows = x.dim() < 2 ? 1 : x.size(-2), columns = x.dim() < 1 ? 1 : x.size(-1);
  throw ShapeError(
      "attention.window_bias",
      fmt::format("{} has {} dimensions, {} rows and {} columns, expected 1 or {} rows and 1 column", name,
                  x.dim(), rows, columns, piece.queries));
}

}  // namespace

std::vector<double> alibi_slopes(std::int64_t n_heads) {
  if (n_heads < 1) {
    throw ConfigError("attention.alibi_slopes", fmt::format("n_heads is {}, expected 1 or more", n_heads));
  }
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n_heads)));
  std::vector<double> slopes = slopes_of_power_of_two(below);
  const std::vector<double> finer = slopes_of_power_of_two(2 * below);
  for (std::size_t n = 0; std::ssize(slopes) < n_heads; n += 2) slopes.push_back(finer[n]);
  return slopes;
}

at::Tensor alibi_bias(const std::vector<double>& slopes, const Piece& piece,
                      const at::TensorOptions& options) {
  const at::Tensor slope_H11 =
      per_head("attention.alibi_bias", "slopes", slopes, std::ssize(slopes), options);
  return relative_positions(piece, options).abs() * -slope_H11;
}

at::Tensor t5_buckets(const Piece& piece, const T5Buckets& buckets, at::Device device) {
  const bool both = buckets.direction == T5Direction::kBoth;
  const std::int64_t count = both ? buckets.n_buckets / 2 : buckets.n_buckets;
  if (count < 2 || buckets.max_distance <= count / 2) {
    throw ConfigError("attention.t5_buckets",
                      fmt::format("{} buckets up to distance {}, expected at least {} buckets and a distance "
                                  "beyond those of their own",
                                  buckets.n_buckets, buckets.max_distance, both ? 4 : 2));
  }
  const at::Tensor ahead_TS = relative_positions(piece, at::TensorOptions(at::kLong).device(device));
  // All distances from max_distance on share a bucket, so that the table stays short.
  const at::Tensor table = buckets_of(count, buckets.max_distance, device);
  const at::Tensor distance_TS = both ? ahead_TS.abs() : (-ahead_TS).clamp_min(0);
  const at::Tensor bucket_TS = table.index({distance_TS.clamp_max(buckets.max_distance)});
  return both ? bucket_TS + (ahead_TS > 0) * count : bucket_TS;
}

at::Tensor rope(const at::Tensor& x_BHTE, std::int64_t first_position, double base) {
  check_shape("attention.rope", "x", x_BHTE.sizes(), {kAnySize, kAnySize, kAnySize, kAnySize});
  if (!(base > 0.0))
    throw ConfigError("attention.rope", fmt::format("base is {}, expected more than 0", base));
  const std::int64_t tokens = x_BHTE.size(2), pairs = x_BHTE.size(3) / 2;
  if (pairs == 0) return x_BHTE;
  const auto exact = x_BHTE.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor frequency = at::pow(base, at::arange(pairs, exact) / -static_cast<double>(pairs));
  const at::Tensor angle =
      at::arange(first_position, first_position + tokens, exact).unsqueeze(-1) * frequency;
  const at::ScalarType working = at::promote_types(x_BHTE.scalar_type(), at::kFloat);
  const at::Tensor cosine = angle.cos().to(working), sine = angle.sin().to(working);
  const at::Tensor turning =
      x_BHTE.narrow(-1, 0, 2 * pairs).to(working).unflatten(-1, {pairs, std::int64_t{2}});
  const at::Tensor a = turning.select(-1, 0), b = turning.select(-1, 1);
  const at::Tensor turned =
      at::stack({a * cosine - b * sine, a * sine + b * cosine}, -1).flatten(-2).to(x_BHTE.scalar_type());
  return x_BHTE.size(3) == 2 * pairs ? turned : at::cat({turned, x_BHTE.narrow(-1, 2 * pairs, 1)}, -1);
}

at::Tensor window_bias(const at::Tensor& offset, const at::Tensor& log_bandwidth, const Piece& piece) {
  check_window("offset", offset, piece);
  check_window("log_bandwidth", log_bandwidth, piece);
  const at::ScalarType working = at::promote_types(offset.scalar_type(), at::kFloat);
  const at::Tensor ahead_TS = relative_positions(piece, offset.options().dtype(working).requires_grad(false));
  const at::Tensor in_bandwidths = (ahead_TS - offset) * (-log_bandwidth.to(working).clamp_min(-20.0)).exp();
  return in_bandwidths.square() * -0.5;
}

}  // namespace headtorch::attention
