#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(ResidualNormOfEverySet);

enum class Norm { kLayer, kRms };

struct Case {
  std::int64_t rows, features;
  Norm norm;
  bool has_branch, has_dropout, has_sum_gradient;
  float eps = 1e-5F;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.rows << " x " << c.features << (c.norm == Norm::kRms ? " RMS" : " layer")
             << (c.has_branch ? " branch" : "") << (c.has_dropout ? " dropout" : "")
             << (c.has_sum_gradient ? " sum gradient" : "");
}

constexpr double kDropped = 0.3;

struct Inputs {
  Inputs(const Case& its_case, Random& random)
      : c(its_case),
        x(random_floats(random, c.rows * c.features, 2.0)),
        branch(random_floats(random, c.rows * c.features)),
        weight(random_floats(random, c.features)),
        bias(random_floats(random, c.features)),
        y_gradient(random_floats(random, c.rows * c.features)),
        sum_gradient(random_floats(random, c.rows * c.features)),
        mask(random, c.rows * c.features, kDropped) {}

  DropoutBits dropout() const {
    if (!c.has_dropout) return {};
    return {mask.bits.data(), static_cast<float>(1.0 / (1.0 - kDropped))};
  }
  /// The branch's factor at an element.
  double kept(std::int64_t i) const {
    if (!c.has_dropout) return 1.0;
    return mask.kept(i) ? static_cast<double>(dropout().scale) : 0.0;
  }
  bool is_layer() const { return c.norm == Norm::kLayer; }

  Case c;
  Floats x, branch, weight, bias, y_gradient, sum_gradient;
  Mask mask;
};

struct Forward {
  Forward(const Kernels& kernels, const Inputs& in)
      : sum(in.x.size(), kNaN), y(in.x.size(), kNaN), mean(in.c.rows, kNaN), inverse_sd(in.c.rows, kNaN) {
    kernels.residual_norm_forward({.rows = in.c.rows,
                                   .features = in.c.features,
                                   .branch = in.c.has_branch ? in.branch.data() : nullptr,
                                   .dropout = in.dropout(),
                                   .x = in.x.data(),
                                   .weight = in.weight.data(),
                                   .bias = in.is_layer() ? in.bias.data() : nullptr,
                                   .eps = in.c.eps,
                                   .sum = in.c.has_branch ? sum.data() : nullptr,
                                   .y = y.data(),
                                   .mean = in.is_layer() ? mean.data() : nullptr,
                                   .inverse_sd = inverse_sd.data()});
    if (!in.c.has_branch) std::copy(in.x.begin(), in.x.end(), sum.begin());
  }
  Floats sum, y, mean, inverse_sd;
};

/// Which gradients share an array.
enum class Place { kApart, kOnSumGradient, kAllOnSumGradient };

struct Backward {
  Backward(const Kernels& kernels, const Inputs& in, const Forward& forward, Place place)
      : x_gradient(place == Place::kApart ? Floats(in.x.size(), kNaN) : copy_of(in.sum_gradient)),
        branch_gradient(in.x.size(), kNaN),
        weight_gradient(in.c.features, 1.0F),
        bias_gradient(in.c.features, 1.0F) {
    const float* after = place == Place::kApart ? in.sum_gradient.data() : x_gradient.data();
    kernels.residual_norm_backward({.rows = in.c.rows,
                                    .features = in.c.features,
                                    .y_gradient = in.y_gradient.data(),
                                    .sum_gradient = in.c.has_sum_gradient ? after : nullptr,
                                    .sum = forward.sum.data(),
                                    .mean = in.is_layer() ? forward.mean.data() : nullptr,
                                    .inverse_sd = forward.inverse_sd.data(),
                                    .weight = in.weight.data(),
                                    .dropout = in.dropout(),
                                    .x_gradient = x_gradient.data(),
                                    .branch_gradient = !in.c.has_branch ? nullptr
                                                       : place == Place::kAllOnSumGradient
                                                           ? x_gradient.data()
                                                           : branch_gradient.data(),
                                    .weight_gradient = weight_gradient.data(),
                                    .bias_gradient = in.is_layer() ? bias_gradient.data() : nullptr});
  }
  Floats x_gradient, branch_gradient, weight_gradient, bias_gradient;
};

/// Mean and 1 / sd of a row in double.
struct Moments {
  Moments(const Case& c, const std::vector<double>& row) {
    for (const double s : row) mean += c.norm == Norm::kLayer ? s / static_cast<double>(c.features) : 0.0;
    for (const double s : row) variance += (s - mean) * (s - mean) / static_cast<double>(c.features);
    inverse_sd = 1.0 / std::sqrt(variance + static_cast<double>(c.eps));
  }
  double mean = 0.0, variance = 0.0, inverse_sd = 0.0;
};

std::vector<double> row_of(const Floats& matrix, std::int64_t row, std::int64_t width) {
  return {matrix.begin() + row * width, matrix.begin() + (row + 1) * width};
}

double mean_magnitude(const std::vector<double>& row) {
  double sum = 0.0;
  for (const double s : row) sum += std::abs(s);
  return sum / static_cast<double>(row.size());
}

void expect_forward(const Inputs& in, const Forward& out) {
  const std::int64_t width = in.c.features;
  for (std::int64_t i = 0; i < in.x.size(); ++i) {
    Sum sum;
    sum.add(static_cast<double>(in.x[i]));
    if (in.c.has_branch) sum.add(static_cast<double>(in.branch[i]) * in.kept(i));
    ASSERT_TRUE(close(out.sum[i], sum)) << "sum " << i;
  }
  for (std::int64_t r = 0; r < in.c.rows; ++r) {
    const std::vector<double> row = row_of(out.sum, r, width);
    const Moments moments(in.c, row);
    const double about = in.is_layer() ? mean_magnitude(row) : 0.0;
    if (in.is_layer()) {
      ASSERT_TRUE(close(out.mean[r], {moments.mean, about})) << "mean " << r;
    }
    ASSERT_TRUE(close(out.inverse_sd[r],
                      {moments.inverse_sd, moments.inverse_sd * (1.0 + about * moments.inverse_sd)}))
        << "1 / sd " << r;
    for (std::int64_t j = 0; j < width; ++j) {
      const auto w = static_cast<double>(in.weight[j]);
      const double s = row[static_cast<std::size_t>(j)];
      Sum y;
      y.add((s - moments.mean) * moments.inverse_sd * w,
            (std::abs(s) + 2.0 * about) * moments.inverse_sd * std::abs(w));
      if (in.is_layer()) y.add(static_cast<double>(in.bias[j]));
      ASSERT_TRUE(close(out.y[r * width + j], y)) << "y " << r << ' ' << j;
    }
  }
}

/// With the mean and 1 / sd that forward left: n = (sum - mean) / sd, g = dy weight,
/// dsum = (g - mean(g) - n mean(g n)) / sd + what comes from behind.
void expect_backward(const Inputs& in, const Forward& forward, const Backward& out, Place place) {
  const std::int64_t width = in.c.features;
  std::vector<Sum> weight_gradient(static_cast<std::size_t>(width), Sum{1.0, 1.0}),
      bias_gradient = weight_gradient;
  for (std::int64_t r = 0; r < in.c.rows; ++r) {
    const std::vector<double> row = row_of(forward.sum, r, width);
    const double mean = in.is_layer() ? static_cast<double>(forward.mean[r]) : 0.0,
                 inverse_sd = static_cast<double>(forward.inverse_sd[r]);
    const auto normed = [&](std::int64_t j) {
      const double s = row[static_cast<std::size_t>(j)];
      return Sum{(s - mean) * inverse_sd, (std::abs(s) + std::abs(mean)) * inverse_sd};
    };
    const auto inner = [&](std::int64_t j) {
      return static_cast<double>(in.y_gradient[r * width + j]) * static_cast<double>(in.weight[j]);
    };
    Sum along_ones, along_normed;
    for (std::int64_t j = 0; j < width; ++j) {
      const double share = 1.0 / static_cast<double>(width);
      if (in.is_layer()) along_ones.add(inner(j) * share);
      along_normed.add(inner(j) * normed(j).value * share, std::abs(inner(j)) * normed(j).magnitude * share);
      const auto dy = static_cast<double>(in.y_gradient[r * width + j]);
      weight_gradient[static_cast<std::size_t>(j)].add(dy * normed(j).value,
                                                       std::abs(dy) * normed(j).magnitude);
      bias_gradient[static_cast<std::size_t>(j)].add(dy);
    }
    for (std::int64_t j = 0; j < width; ++j) {
      const std::int64_t i = r * width + j;
      Sum gradient;
      gradient.add(inner(j) * inverse_sd);
      gradient.add(-along_ones.value * inverse_sd, along_ones.magnitude * inverse_sd);
      gradient.add(-normed(j).value * along_normed.value * inverse_sd,
                   normed(j).magnitude * along_normed.magnitude * inverse_sd);
      if (in.c.has_sum_gradient) gradient.add(static_cast<double>(in.sum_gradient[i]));
      ASSERT_TRUE(close(out.x_gradient[i], gradient)) << "x gradient " << i;
      if (!in.c.has_branch || place == Place::kAllOnSumGradient) continue;
      const Sum branch = {gradient.value * in.kept(i), gradient.magnitude * in.kept(i)};
      ASSERT_TRUE(close(out.branch_gradient[i], branch)) << "branch gradient " << i;
    }
  }
  for (std::int64_t j = 0; j < width; ++j) {
    ASSERT_TRUE(close(out.weight_gradient[j], weight_gradient[static_cast<std::size_t>(j)])) << j;
    if (in.is_layer()) {
      ASSERT_TRUE(close(out.bias_gradient[j], bias_gradient[static_cast<std::size_t>(j)])) << j;
    }
  }
}

std::vector<Case> all_cases() {
  std::vector<std::int64_t> widths = {64, 100, 257};
  for (std::int64_t width = 1; width <= 40; ++width) widths.push_back(width);
  std::vector<Case> out;
  for (const std::int64_t width : widths) {
    for (int i = 0; i < 16; ++i) {
      const bool has_branch = (i & 2) != 0;
      out.push_back({1 + width % 5, width, (i & 1) != 0 ? Norm::kRms : Norm::kLayer, has_branch,
                     has_branch && (i & 4) != 0, (i & 8) != 0, width % 2 == 0 ? 1e-5F : 0.1F});
    }
  }
  return out;
}

TEST_P(ResidualNormOfEverySet, is_its_definition_forward_and_backward) {
  Random random(21, 0);
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(::testing::Message() << c);
    const Inputs in(c, random);
    const Forward forward(*kernels, in);
    expect_forward(in, forward);
    if (HasFatalFailure()) return;
    for (const Place place : {Place::kApart, Place::kOnSumGradient, Place::kAllOnSumGradient}) {
      if (place == Place::kAllOnSumGradient && c.has_dropout) continue;
      expect_backward(in, forward, Backward(*kernels, in, forward, place), place);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(ResidualNormOfEverySet, many_rows_add_up) {
  Random random(22, 0);
  const Inputs in({2000, 24, Norm::kLayer, true, true, true}, random);
  const Forward forward(*kernels, in);
  expect_forward(in, forward);
  expect_backward(in, forward, Backward(*kernels, in, forward, Place::kApart), Place::kApart);
}

/// The chain rule above against differences of the norm in double.
TEST(ResidualNormReference, its_gradient_is_the_slope) {
  Random random(23, 0);
  for (const Norm norm : {Norm::kLayer, Norm::kRms}) {
    const Case c = {1, 7, norm, false, false, false};
    const Inputs in(c, random);
    std::vector<double> start = row_of(in.x, 0, 7);
    const auto loss = [&](const std::vector<double>& row) {
      const Moments moments(c, row);
      double sum = 0.0;
      for (std::int64_t j = 0; j < 7; ++j)
        sum += static_cast<double>(in.y_gradient[j]) * static_cast<double>(in.weight[j]) *
               (row[static_cast<std::size_t>(j)] - moments.mean) * moments.inverse_sd;
      return sum;
    };
    const Moments moments(c, start);
    double ones = 0.0, along = 0.0;
    const auto inner = [&](std::size_t j) {
      const auto i = static_cast<std::int64_t>(j);
      return static_cast<double>(in.y_gradient[i]) * static_cast<double>(in.weight[i]);
    };
    const auto normed = [&](std::size_t j) { return (start[j] - moments.mean) * moments.inverse_sd; };
    for (std::size_t j = 0; j < 7; ++j) {
      ones += norm == Norm::kLayer ? inner(j) / 7.0 : 0.0;
      along += inner(j) * normed(j) / 7.0;
    }
    for (std::size_t j = 0; j < 7; ++j) {
      std::vector<double> up = start, down = start;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      EXPECT_NEAR((loss(up) - loss(down)) / 2e-5, (inner(j) - ones - normed(j) * along) * moments.inverse_sd,
                  1e-8);
    }
  }
}

TEST_P(ResidualNormOfEverySet, a_constant_row_gives_the_bias) {
  Random random(24, 0);
  for (std::int64_t width = 1; width <= 40; ++width) {
    for (const float level : {0.0F, 1.0F, -0.1F, 3.0F}) {
      Inputs in({2, width, Norm::kLayer, false, false, false}, random);
      std::fill(in.x.begin(), in.x.end(), level);
      const Forward out(*kernels, in);
      for (std::int64_t i = 0; i < in.x.size(); ++i) {
        const auto bias = static_cast<double>(in.bias[i % width]);
        const double roundings = static_cast<double>(std::abs(level)) / std::sqrt(1e-5);
        ASSERT_TRUE(close(out.y[i], {bias, std::abs(bias) + roundings})) << width << ' ' << level;
      }
    }
  }
}

TEST_P(ResidualNormOfEverySet, a_mean_far_above_the_spread_does_not_swamp_it) {
  Random random(25, 0);
  Inputs in({3, 50, Norm::kLayer, false, false, false}, random);
  for (float& x : in.x) x += 1000.0F;
  expect_forward(in, Forward(*kernels, in));
}

TEST_P(ResidualNormOfEverySet, NaN_marks_its_row_and_no_other) {
  Random random(26, 0);
  for (const Norm norm : {Norm::kLayer, Norm::kRms}) {
    for (std::int64_t bad = 0; bad < 37; ++bad) {
      Inputs in({3, 37, norm, true, false, true}, random);
      in.x[37 + bad] = kNaN;
      const Forward forward(*kernels, in);
      const Backward backward(*kernels, in, forward, Place::kApart);
      for (std::int64_t i = 0; i < in.x.size(); ++i) {
        ASSERT_EQ(std::isnan(forward.y[i]), i / 37 == 1) << bad << ' ' << i;
        ASSERT_EQ(std::isnan(backward.x_gradient[i]), i / 37 == 1) << bad << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
