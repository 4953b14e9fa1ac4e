#include "src/nn/score.hpp"

#include <torch/torch.h>

#include "src/attention/per_head.hpp"

namespace headtorch::nn {

std::shared_ptr<ScoreFunction> make_score(const ScoreOptions& options, const ScoreSizes& sizes) {
  for (const auto* list : {&options.bandwidth, &options.kernel_slope, &options.kernel_offset}) {
    attention::per_head("nn.score", "a kernel list", *list, sizes.n_heads, torch::kDouble);
  }
  constexpr std::shared_ptr<ScoreFunction> (*kMakers[])(const ScoreOptions&, const ScoreSizes&) = {
#define HEADTORCH_SCORE(id, name, compares, make) make,
#include "src/nn/scores.def"
#undef HEADTORCH_SCORE
  };
  return kMakers[static_cast<std::size_t>(options.score)](options, sizes);
}

}  // namespace headtorch::nn
