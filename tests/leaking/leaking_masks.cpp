// A build that leaks: every causal mask shows one token too many. It stands in for src/attention/masks.cpp,
// so that the linker never takes the real one, and `diagnose --leak` must find it.

#define causal_mask honest_causal_mask
#define resolve honest_resolve
#include "src/attention/masks.cpp"  // NOLINT(bugprone-suspicious-include)
#undef causal_mask
#undef resolve

namespace headtorch::attention {

at::Tensor causal_mask(std::int64_t queries, std::int64_t keys, at::Device device) {
  return at::ones({queries, keys}, at::TensorOptions(at::kBool).device(device)).tril(keys - queries + 1);
}

at::Tensor resolve(const Mask& mask, const Piece& piece, at::Device device) {
  Mask loose = mask;
  Piece later = piece;
  if (mask.visibility == Visibility::kCausal) later.first_query += 1;
  loose.visible = at::Tensor();
  return combine(honest_resolve(loose, later, device), mask.visible);
}

at::Tensor resolve(const Mask& mask, std::int64_t queries, std::int64_t keys, at::Device device) {
  return resolve(mask, whole(queries, keys), device);
}

}  // namespace headtorch::attention
