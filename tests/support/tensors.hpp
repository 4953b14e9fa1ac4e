#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace headtorch::test {

/// Results are compared to the last bit, which holds at one thread.
inline const bool kOneThread = [] {
  at::set_num_threads(1);
  return true;
}();

/// Largest difference that counts as equal, relative to the largest expected value (at least 1).
inline double tolerance(torch::Dtype dtype) {
  if (dtype == torch::kFloat32) return 1e-5;
  if (dtype == torch::kFloat64) return 1e-12;
  return 0.0;
}

/// For numeric_gradient: its formula leaves an error of about h^4 f''''' / 30 + eps / h.
inline constexpr double kNumericGradientTolerance = 1e-9;

inline std::string text(const torch::Tensor& t) {
  std::ostringstream out;
  out << t.dtype() << ' ' << t.sizes();
  if (t.numel() <= 64) out << '\n' << t.detach();
  return out.str();
}

/// Same shape and dtype, and equal within `limit` (by default the dtype's tolerance). NaN equals nothing.
inline ::testing::AssertionResult close(const torch::Tensor& actual, const torch::Tensor& expected,
                                        double limit = -1.0) {
  if (actual.sizes() != expected.sizes() || actual.dtype() != expected.dtype()) {
    return ::testing::AssertionFailure() << "got " << text(actual) << "\nexpected " << text(expected);
  }
  if (actual.numel() == 0) return ::testing::AssertionSuccess();
  const torch::Tensor a = actual.detach().to(torch::kFloat64), e = expected.detach().to(torch::kFloat64);
  const double largest = (a - e).abs().max().item<double>();
  const double allowed =
      (limit < 0.0 ? tolerance(actual.scalar_type()) : limit) * std::max(1.0, e.abs().max().item<double>());
  if (largest <= allowed) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "largest difference " << largest << ", allowed " << allowed
                                       << "\ngot " << text(actual) << "\nexpected " << text(expected);
}

/// Equal to the last bit, in shape and dtype too.
inline ::testing::AssertionResult identical(const torch::Tensor& actual, const torch::Tensor& expected) {
  return close(actual, expected, 0.0);
}

inline bool all_finite(const torch::Tensor& t) { return torch::isfinite(t).all().item<bool>(); }

inline torch::Tensor doubles(const std::vector<double>& values, torch::IntArrayRef shape) {
  return torch::tensor(values, torch::kFloat64).view(shape);
}

/// Seeded normal numbers in float64.
inline torch::Tensor normal(torch::IntArrayRef shape, std::uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn(shape, torch::kFloat64);
}

/// A file of tests/golden.
inline nlohmann::json golden(const std::string& file) {
  std::ifstream in(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/" + file);
  return nlohmann::json::parse(in);
}

/// {"shape": [...], "data": [...]} as a tensor.
inline torch::Tensor tensor(const nlohmann::json& t, torch::Dtype dtype = torch::kFloat64) {
  const auto data = t.at("data").get<std::vector<double>>();
  const auto shape = t.at("shape").get<std::vector<std::int64_t>>();
  return torch::tensor(data, torch::kFloat64).view(shape).to(dtype);
}

/// Gradient of the scalar f at x, one element at a time, by the five-point formula
/// (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h, h = 1e-3. float64 only.
inline torch::Tensor numeric_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& f,
                                      const torch::Tensor& x) {
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-3;
  torch::Tensor gradient = torch::empty(x.numel(), torch::kFloat64);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const auto at = [&](double distance) {
      torch::Tensor moved = x.detach().clone();
      moved.view(-1)[i] += distance * kStep;
      return f(moved).item<double>();
    };
    gradient[i] = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * kStep);
  }
  return gradient.view(x.sizes());
}

/// Gradient of the scalar f at x by autograd.
inline torch::Tensor analytic_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& f,
                                       const torch::Tensor& x) {
  const torch::Tensor leaf = x.detach().clone().requires_grad_();
  return torch::autograd::grad({f(leaf)}, {leaf})[0];
}

}  // namespace headtorch::test
