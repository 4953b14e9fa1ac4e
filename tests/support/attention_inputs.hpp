#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "src/attention/masks.hpp"
#include "src/attention/scores.hpp"
#include "tests/support/tensors.hpp"

// Inputs that every way to attend is tried with.

namespace headtorch::test {

struct Sizes {
  std::int64_t batch, heads, queries, keys, features, values;
};

inline const std::vector<Sizes> kSizes = {{2, 2, 6, 6, 4, 3}, {1, 1, 1, 1, 1, 1}, {1, 3, 7, 7, 5, 5},
                                          {3, 1, 2, 5, 3, 3}, {2, 2, 5, 2, 4, 4}, {1, 2, 33, 33, 16, 16}};

struct NamedMask {
  std::string name;
  attention::Mask mask;
};

/// None, causal, padding, windows, some at once, and random ones in which some rows see nothing.
inline std::vector<NamedMask> masks(const Sizes& s) {
  const torch::Tensor lengths = torch::clamp_min(s.keys - torch::arange(s.batch), 1);
  const torch::Tensor padding = attention::padding_mask(lengths, s.keys);
  torch::manual_seed(3);
  torch::Tensor random = torch::rand({s.batch, s.heads, s.queries, s.keys}) < 0.6;
  random.select(2, s.queries / 2).fill_(false);
  return {{"none", {}},
          {"causal", {attention::Visibility::kCausal, {}}},
          {"padding", {attention::Visibility::kAll, padding}},
          {"causal and padding", {attention::Visibility::kCausal, padding}},
          {"window", {attention::Visibility::kAll, {}, 1}},
          {"causal, window and padding", {attention::Visibility::kCausal, padding, 2}},
          {"rows with nothing to see", {attention::Visibility::kAll, random}},
          {"causal, rows with nothing to see", {attention::Visibility::kCausal, random}}};
}

struct Inputs {
  torch::Tensor q, k, v;
};

/// Seeded normal numbers in float64.
inline Inputs inputs(const Sizes& s, std::uint64_t seed = 1) {
  return {normal({s.batch, s.heads, s.queries, s.features}, seed),
          normal({s.batch, s.heads, s.keys, s.features}, seed + 1),
          normal({s.batch, s.heads, s.keys, s.values}, seed + 2)};
}

/// A score with a parameter that may be learned.
struct NamedScore {
  std::string name;
  std::function<torch::Tensor(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& parameter)>
      of;
  torch::Tensor parameter;
};

inline std::vector<NamedScore> scores(std::int64_t heads, std::int64_t features) {
  using torch::Tensor;
  const Tensor by_head = torch::linspace(0.6, 1.7, heads, torch::kFloat64);
  const Tensor weight = torch::linspace(-1.0, 1.5, heads * features, torch::kFloat64).view({heads, features});
  const auto parameterless = [](const Tensor& q, const Tensor& k, const Tensor& p) {
    return attention::scaled_dot_scores(q, k, 0.7) + 0.0 * p.sum();
  };
  using WithTensor = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
  return {{"dot", parameterless, by_head},
          {"dot by head", static_cast<WithTensor>(attention::scaled_dot_scores), by_head},
          {"gaussian", static_cast<WithTensor>(attention::gaussian_scores), by_head},
          {"gaussian by dot", attention::gaussian_by_dot_scores, by_head},
          {"cosine", attention::cosine_scores, by_head},
          {"additive", attention::additive_scores, weight},
          {"linear", attention::linear_scores, by_head}};
}

struct WithGradients {
  torch::Tensor y;
  std::vector<torch::Tensor> gradients;
};

/// Output of a path, and the gradients of its product with grad_y.
inline WithGradients differentiate(const Inputs& in, const std::function<torch::Tensor(const Inputs&)>& path,
                                   const torch::Tensor& grad_y) {
  const Inputs leaf{in.q.clone().requires_grad_(), in.k.clone().requires_grad_(),
                    in.v.clone().requires_grad_()};
  const torch::Tensor y = path(leaf);
  return {y, torch::autograd::grad({y}, {leaf.q, leaf.k, leaf.v}, {grad_y})};
}

}  // namespace headtorch::test
