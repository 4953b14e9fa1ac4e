#include "src/nn/relative_position.hpp"

#include <torch/torch.h>

namespace headtorch::nn {

std::shared_ptr<RelativePosition> added_to_embedding(const PositionSizes&) { return nullptr; }

std::shared_ptr<RelativePosition> make_relative_position(Position position, const PositionSizes& sizes) {
  constexpr std::shared_ptr<RelativePosition> (*kMakers[])(const PositionSizes&) = {
#define HEADTORCH_POSITION(id, name, acts, make) make,
#include "src/nn/positions.def"
#undef HEADTORCH_POSITION
  };
  return kMakers[static_cast<std::size_t>(position)](sizes);
}

}  // namespace headtorch::nn
