#include "train/engine/weights.hpp"

namespace headtorch::train::engine {
namespace {

void refresh(PackedLinear& packed, const kernels::Products& products) {
  if (!packed.linear.weight) return;
  const float* weight = packed.linear.weight.values;
  products.pack({packed.in, packed.out, weight, packed.in, true, packed.forward.data()});
  products.pack({packed.out, packed.in, weight, packed.in, false, packed.backward.data()});
}

}  // namespace

PackedWeights::PackedWeights(const Model& model, const kernels::Products& products) : products_(products) {
  const auto room = [&](std::int64_t depth, std::int64_t columns) {
    return arena_.bytes(static_cast<std::int64_t>(products.packed_bytes(depth, columns)));
  };
  const auto make = [&](const Linear& linear, std::int64_t in, std::int64_t out) -> PackedLinear {
    if (!linear.weight) return {};
    return {linear, in, out, room(in, out), room(out, in)};
  };
  const Sizes& sizes = model.sizes;
  for (const Layer& layer : model.layers) {
    layers_.push_back(
        {make(layer.in_proj, sizes.width, 3 * sizes.width), make(layer.out_proj, sizes.width, sizes.width),
         make(layer.linear1, sizes.width, sizes.hidden), make(layer.linear2, sizes.hidden, sizes.width)});
  }
  features_ = make(model.features, sizes.features, sizes.width);
  output_ = make(model.output, sizes.width, sizes.classes);
}

void PackedWeights::refresh() {
  for (PackedLayer& layer : layers_) {
    for (PackedLinear* linear : {&layer.in_proj, &layer.out_proj, &layer.linear1, &layer.linear2})
      engine::refresh(*linear, products_);
  }
  engine::refresh(features_, products_);
  engine::refresh(output_, products_);
}

}  // namespace headtorch::train::engine
