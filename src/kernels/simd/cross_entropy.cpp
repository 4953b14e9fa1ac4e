#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/vector.hpp"

namespace headtorch::kernels::HEADTORCH_SET {

void cross_entropy(const CrossEntropy& call) {
  const Index classes = call.classes;
  const Vec lowest = splat(-__builtin_inff());
  const float spread = call.smoothing / static_cast<float>(classes);
  double loss = 0.0;
  for (Index row = 0; row < call.rows; ++row) {
    float* x = call.logits + row * classes;
    const Index label = call.labels[row];
    if (label < 0) {
      for (Index j = 0; j < classes; j += kLanes) store_up_to(x + j, zero(), classes - j);
      continue;
    }
    Vec most = lowest, all = zero();
    for (Index j = 0; j < classes; j += kLanes) {
      const Index left = classes - j;
      most = larger(most, left >= kLanes ? load(x + j) : load_first_or(x + j, left, lowest));
      all += load_up_to(x + j, left);
    }
    const float highest = largest(most), own = x[label];
    Vec total = zero();
    for (Index j = 0; j < classes; j += kLanes) {
      const Index left = classes - j;
      const Vec from_highest =
          (left >= kLanes ? load(x + j) : load_first_or(x + j, left, lowest)) - splat(highest);
      const Vec power = exponential(from_highest);
      total += power;
      store_up_to(x + j, power, left);
    }
    const float sum_of_powers = sum(total);
    const double normaliser =
        __builtin_log(static_cast<double>(sum_of_powers)) + static_cast<double>(highest);
    loss += normaliser - (1.0 - static_cast<double>(call.smoothing)) * static_cast<double>(own);
    // Without smoothing a class with a logit of -infinity costs nothing.
    if (spread != 0.0F) loss -= static_cast<double>(spread) * static_cast<double>(sum(all));
    const Vec factor = splat(1.0F / sum_of_powers);
    for (Index j = 0; j < classes; j += kLanes) {
      const Index left = classes - j;
      store_up_to(x + j, load_up_to(x + j, left) * factor - splat(spread), left);
    }
    x[label] -= 1.0F - call.smoothing;
  }
  *call.loss = loss;
}

}  // namespace headtorch::kernels::HEADTORCH_SET
