#include <torch/torch.h>

#include "src/attention/relative.hpp"
#include "src/nn/relative_position.hpp"

namespace headtorch::nn {
namespace {

/// A learned number a head and bucket of distances; a table a layer.  Raffel et al. 2020,
/// arXiv:1910.10683, 2.1.
class BucketedPosition final : public RelativePosition {
 public:
  explicit BucketedPosition(const PositionSizes& sizes) {
    table_ = register_parameter("table", torch::zeros({sizes.n_heads, attention::T5Buckets{}.n_buckets}));
  }
  torch::Tensor bias(const torch::Tensor& q_BHTE, const attention::Piece& piece) override {
    const torch::Tensor bucket_TS = attention::t5_buckets(piece, {}, q_BHTE.device());
    return table_.index_select(1, bucket_TS.flatten()).view({-1, piece.queries, piece.keys});
  }

 private:
  torch::Tensor table_;  // [H, buckets]
};

}  // namespace

std::shared_ptr<RelativePosition> make_bucketed_position(const PositionSizes& sizes) {
  return std::make_shared<BucketedPosition>(sizes);
}

}  // namespace headtorch::nn
