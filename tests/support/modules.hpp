#pragma once

#include <torch/torch.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/tensors.hpp"

namespace headtorch::test {

/// Gives a parameter its value.
inline void set(torch::nn::Module& module, const std::string& name, const torch::Tensor& value) {
  const torch::NoGradGuard no_grad;
  auto* parameter = module.named_parameters().find(name);
  ASSERT_NE(parameter, nullptr) << "no parameter " << name;
  ASSERT_EQ(parameter->sizes(), value.sizes()) << name;
  parameter->copy_(value);
}

/// wq, wk, wv, wo and their biases from a golden file into a MultiHeadAttention.
inline void load_projections(torch::nn::Module& module, const nlohmann::json& g,
                             const std::string& prefix = "") {
  set(module, prefix + "in_proj_weight", torch::cat({tensor(g["wq"]), tensor(g["wk"]), tensor(g["wv"])}));
  set(module, prefix + "in_proj_bias", torch::cat({tensor(g["bq"]), tensor(g["bk"]), tensor(g["bv"])}));
  set(module, prefix + "out_proj.weight", tensor(g["wo"]));
  set(module, prefix + "out_proj.bias", tensor(g["bo"]));
}

inline std::int64_t parameter_count(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& p : module.parameters()) count += p.numel();
  return count;
}

}  // namespace headtorch::test
