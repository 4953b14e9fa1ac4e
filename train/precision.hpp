#pragma once

#include <torch/types.h>

#include "train/settings/config.hpp"

namespace headtorch::train {

/// @throws ConfigError `precision` naming what is missing: bfloat16 on a processor without instructions for
/// it (it would be 40 to 500 times slower than float32), float16 without a GPU.
void check_precision(Precision precision, torch::Device device);

/// Matrix products of this thread in a lower precision for as long as it lives (torch's autocast); float32:
/// nothing changes.
class Autocast {
 public:
  Autocast(Precision precision, torch::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  torch::Device device_;
  bool is_on_;
};

/// The factor on the loss that keeps float16 gradients from vanishing; 1 and constant for other precisions.
/// Halved after a step whose gradient is not finite, doubled after 2000 that are (Micikevicius et al. 2018,
/// arXiv:1710.03740, 3.2).
class LossScale {
 public:
  explicit LossScale(Precision precision);
  double factor() const { return factor_; }
  void update(bool finite);

 private:
  bool adapts_;
  double factor_;
  std::int64_t good_steps_ = 0;
};

}  // namespace headtorch::train
