#include "train/precision.hpp"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <algorithm>

#include "src/core/error.hpp"

namespace headtorch::train {
namespace {

constexpr double kFirstScale = 65536.0, kLargestScale = 16777216.0;
constexpr std::int64_t kGoodSteps = 2000;

bool processor_multiplies_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

}  // namespace

void check_precision(Precision precision, torch::Device device) {
  if (precision == Precision::kFloat16 && !device.is_cuda())
    throw ConfigError("precision",
                      "is float16 and the device is a CPU, expected a GPU, or bfloat16 or float32");
  if (precision == Precision::kBfloat16 && device.is_cpu() && !processor_multiplies_bfloat16()) {
    throw ConfigError(
        "precision",
        "is bfloat16 and this processor has no AVX512-BF16, so it would be slower than float32: "
        "expected float32");
  }
}

Autocast::Autocast(Precision precision, torch::Device device)
    : device_(device), is_on_(precision != Precision::kFloat32) {
  if (!is_on_) return;
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device_.type(), true);
  at::autocast::set_autocast_dtype(device_.type(),
                                   precision == Precision::kBfloat16 ? at::kBFloat16 : at::kHalf);
}

Autocast::~Autocast() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(device_.type(), false);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

LossScale::LossScale(Precision precision)
    : adapts_(precision == Precision::kFloat16), factor_(adapts_ ? kFirstScale : 1.0) {}

void LossScale::update(bool finite) {
  if (!adapts_) return;
  if (!finite) {
    factor_ = std::max(factor_ / 2.0, 1.0);
    good_steps_ = 0;
  } else if (++good_steps_ == kGoodSteps) {
    factor_ = std::min(factor_ * 2.0, kLargestScale);
    good_steps_ = 0;
  }
}

}  // namespace headtorch::train
