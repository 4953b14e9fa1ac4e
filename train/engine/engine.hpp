#pragma once

#include <memory>
#include <vector>

#include "train/engine/share.hpp"

namespace headtorch::train::engine {

/// Trains a model without a graph of operations: forward and backward in one pass over a few sequences at a
/// time, through kernels for this processor. Computes what the modules of src/nn compute, with the same
/// dropout, up to rounding.
class Engine {
 public:
  /// @param products float32 or bfloat16.  @param shares parts of a batch that may be worked on at once.
  Engine(Model model, const kernels::Kernels& kernels, const kernels::Products& products,
         std::int64_t shares);

  /// Reads the parameters: once after each change, before accumulate.
  void refresh() { weights_.refresh(); }
  /// As Share::accumulate; different shares may run at once.
  Counted accumulate(std::int64_t share, const Sequences& sequences, const DropoutKey& key, float* gradient) {
    return shares_[static_cast<std::size_t>(share)]->accumulate(sequences, key, gradient);
  }
  /// As Share::measure; different shares may run at once.
  Measured measure(std::int64_t share, const Sequences& sequences) {
    return shares_[static_cast<std::size_t>(share)]->measure(sequences);
  }
  /// Longest sequence that it reads.
  std::int64_t longest() const { return model_.sizes.longest; }

  /// Of its products, for people.
  const char* name() const { return products_.name; }

 private:
  Model model_;
  const kernels::Products& products_;
  PackedWeights weights_;
  std::vector<std::unique_ptr<Share>> shares_;
};

}  // namespace headtorch::train::engine
