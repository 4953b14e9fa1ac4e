#include <torch/torch.h>

#include "src/attention/relative.hpp"
#include "src/nn/relative_position.hpp"

namespace headtorch::nn {
namespace {

/// -slope |i - j|, one slope a head, nothing learned.  Press et al. 2022, arXiv:2108.12409.
class AlibiPosition final : public RelativePosition {
 public:
  explicit AlibiPosition(const PositionSizes& sizes) : n_heads_(sizes.n_heads) {}
  torch::Tensor bias(const torch::Tensor& q_BHTE, const attention::Piece& piece) override {
    return attention::alibi_bias(attention::alibi_slopes(n_heads_), piece,
                                 q_BHTE.options().requires_grad(false));
  }

 private:
  std::int64_t n_heads_;
};

}  // namespace

std::shared_ptr<RelativePosition> make_alibi_position(const PositionSizes& sizes) {
  return std::make_shared<AlibiPosition>(sizes);
}

}  // namespace headtorch::nn
