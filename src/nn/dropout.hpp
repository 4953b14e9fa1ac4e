#pragma once

#include <torch/types.h>

#include <cstdint>

namespace headtorch::nn {

/// One mask of a stream: element e of it is decided by (seed, stream, first_element + e).
struct DropoutDraw {
  std::uint64_t seed = 0, stream = 0, first_element = 0;
};

/// Dropout decisions as a function of (seed, step, place in the forward pass, element): the same whatever the
/// thread or the share of the batch. `first_example` is the batch index of the first row this stream is asked
/// about.
class DropoutStream {
 public:
  DropoutStream(std::uint64_t seed, std::int64_t step, std::int64_t first_example = 0);
  /// 0 with probability p, else 1/(1-p), in the shape, dtype and device of `like`, whose first dimension is
  /// the batch.
  torch::Tensor mask(const torch::Tensor& like, double p);
  /// The next mask of the shape of `like`, to be drawn elsewhere.
  DropoutDraw next(const torch::Tensor& like);
  /// The stream as it will be after `places` more masks.
  DropoutStream ahead(std::int64_t places) const;

 private:
  std::uint64_t seed_;
  std::uint64_t next_place_;
  std::int64_t first_example_;
};

/// x with each element dropped with probability p while training; decisions from `stream`, or from torch's
/// generator when it is null.  Srivastava et al. 2014.
torch::Tensor dropout(const torch::Tensor& x, double p, bool training, DropoutStream* stream);

/// bool, true with probability 1-p, in the shape of `like`: the keys that dropout before the softmax leaves
/// visible.
torch::Tensor kept(const torch::Tensor& like, double p, DropoutStream* stream);

}  // namespace headtorch::nn
