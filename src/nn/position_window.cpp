#include <torch/torch.h>

#include <cmath>

#include "src/attention/relative.hpp"
#include "src/nn/relative_position.hpp"

namespace headtorch::nn {
namespace {

/// -(j - i - offset)^2 / 2 h^2: a Gaussian window over relative positions. Offset and ln h are a learned
/// number a head, plus what a learned map of the query adds, which starts at 0 (A12 of the plan; after Yang
/// et al. 2018, arXiv:1810.10182, whose windows are predicted too).
class WindowPosition final : public RelativePosition {
 public:
  explicit WindowPosition(const PositionSizes& sizes) {
    constexpr double kStart = 4.0;  // positions: wide enough to reach further, narrow enough to feel a slope
    offset_ = register_parameter("offset", torch::zeros({sizes.n_heads, 1, 1}));
    log_bandwidth_ =
        register_parameter("log_bandwidth", torch::full({sizes.n_heads, 1, 1}, std::log(kStart)));
    by_query_ = register_parameter("by_query", torch::zeros({sizes.n_heads, sizes.head_width, 2}));
  }
  torch::Tensor bias(const torch::Tensor& q_BHTE, const attention::Piece& piece) override {
    const torch::Tensor shift_BHT2 = torch::matmul(q_BHTE, by_query_);
    return attention::window_bias(offset_ + shift_BHT2.narrow(-1, 0, 1),
                                  log_bandwidth_ + shift_BHT2.narrow(-1, 1, 1), piece);
  }

 private:
  torch::Tensor offset_, log_bandwidth_;  // [H, 1, 1]
  torch::Tensor by_query_;                // [H, E, 2]
};

}  // namespace

std::shared_ptr<RelativePosition> make_window_position(const PositionSizes& sizes) {
  return std::make_shared<WindowPosition>(sizes);
}

}  // namespace headtorch::nn
