#include "src/kernels/simd/declarations.hpp"
#include "src/kernels/simd/vector.hpp"

namespace headtorch::kernels::HEADTORCH_SET {

void sum_of_squares(const SumOfSquares& call) {
  constexpr Index kBlock = 4096;  // floats summed in float32 before they join the total
  double total = 0.0;
  for (Index first = 0; first < call.count; first += kBlock) {
    const Index end = smaller(call.count, first + kBlock);
    Vec part[2] = {zero(), zero()};
    Index i = first;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const Vec a = load(call.values + i), b = load(call.values + i + kLanes);
      part[0] += a * a;
      part[1] += b * b;
    }
    for (; i < end; i += kLanes) {
      const Vec a = load_up_to(call.values + i, end - i);
      part[0] += a * a;
    }
    total += static_cast<double>(sum(part[0] + part[1]));
  }
  *call.sum = total;
}

void adamw_step(const AdamWStep& call) {
  const double correction1 = 1.0 - __builtin_pow(call.beta1, static_cast<double>(call.step));
  const double correction2 = 1.0 - __builtin_pow(call.beta2, static_cast<double>(call.step));
  const Vec beta1 = splat(static_cast<float>(call.beta1)),
            rest1 = splat(static_cast<float>(1.0 - call.beta1));
  const Vec beta2 = splat(static_cast<float>(call.beta2)),
            rest2 = splat(static_cast<float>(1.0 - call.beta2));
  const Vec decay = splat(static_cast<float>(1.0 - call.lr * call.weight_decay));
  const Vec rate = splat(static_cast<float>(call.lr / correction1));
  const Vec from_square = splat(static_cast<float>(1.0 / __builtin_sqrt(correction2)));
  const Vec eps = splat(static_cast<float>(call.eps)), scale = splat(call.gradient_scale);
  for (Index i = 0; i < call.count; i += kLanes) {
    const Index left = call.count - i;
    const Vec gradient = load_up_to(call.gradient + i, left) * scale;
    const Vec mean = load_up_to(call.mean + i, left) * beta1 + gradient * rest1;
    const Vec square = load_up_to(call.square + i, left) * beta2 + gradient * gradient * rest2;
    store_up_to(call.mean + i, mean, left);
    store_up_to(call.square + i, square, left);
    const Vec value =
        load_up_to(call.values + i, left) * decay - rate * mean / (square_root(square) * from_square + eps);
    store_up_to(call.values + i, value, left);
  }
}

}  // namespace headtorch::kernels::HEADTORCH_SET
