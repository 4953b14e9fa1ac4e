#pragma once

#include <vector>

#include "src/kernels/products.hpp"
#include "train/engine/arena.hpp"
#include "train/engine/model.hpp"

namespace headtorch::train::engine {

/// A linear map's weight as products read it: for y = x W^T and for dx = dy W.
struct PackedLinear {
  Linear linear;
  std::int64_t in = 0, out = 0;
  Bytes forward, backward;
};

struct PackedLayer {
  PackedLinear in_proj, out_proj, linear1, linear2;
};

/// All matrices of a model, packed; read by every share.
class PackedWeights {
 public:
  PackedWeights(const Model& model, const kernels::Products& products);
  /// Reads the parameters again.
  void refresh();

  const PackedLayer& layer(std::int64_t index) const { return layers_[static_cast<std::size_t>(index)]; }
  const PackedLinear& features() const { return features_; }
  const PackedLinear& output() const { return output_; }

 private:
  Arena arena_;
  const kernels::Products& products_;
  std::vector<PackedLayer> layers_;
  PackedLinear features_, output_;
};

}  // namespace headtorch::train::engine
