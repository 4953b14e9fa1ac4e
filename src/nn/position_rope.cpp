#include <fmt/format.h>
#include <torch/torch.h>

#include "src/attention/relative.hpp"
#include "src/core/error.hpp"
#include "src/nn/relative_position.hpp"

namespace headtorch::nn {
namespace {

/// Queries and keys turned by an angle that grows with their position.  Su et al. 2021, arXiv:2104.09864.
class RopePosition final : public RelativePosition {
 public:
  torch::Tensor turn(const torch::Tensor& x_BHTE, std::int64_t first) const override {
    return attention::rope(x_BHTE, first);
  }
};

}  // namespace

std::shared_ptr<RelativePosition> make_rope_position(const PositionSizes& sizes) {
  if (sizes.head_width < 2) {
    throw ConfigError(
        "nn.position",
        fmt::format("rope turns pairs of features and a head has {}, expected at least 2", sizes.head_width));
  }
  return std::make_shared<RopePosition>();
}

}  // namespace headtorch::nn
