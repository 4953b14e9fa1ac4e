// Kernels that are learned: their loss against src/regress, the bandwidth that gradients find, and matrices
// whose answer is known.

#include "train/learned_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "src/regress/leave_one_out.hpp"
#include "train/learned_regression.hpp"

namespace headtorch::train {
namespace {

/// Two columns of a CSV with a header; no rows when the file is absent.
NumberRows read(const std::string& path) {
  std::ifstream file(path);
  NumberRows rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    double x = 0.0, y = 0.0;
    char comma = 0;
    cells >> x >> comma >> y;
    rows.x.push_back(x);
    rows.y.push_back(y);
  }
  return rows;
}

NumberRows shared(const std::string& name) { return read(HEADTORCH_SOURCE_DIR "/../shared/data/" + name); }
NumberRows noisy_sine() { return read(HEADTORCH_SOURCE_DIR "/data/noisy_sine.csv"); }

LearnedKernel gaussian(const NumberRows& rows, double bandwidth) {
  LearnedKernel kernel = new_kernel(KernelForm::kGaussian, 1, rows, 0);
  kernel.parameters.front() = std::log(bandwidth / kernel.scaling.x_sd.front());
  return kernel;
}

/// Learned h from one start.
double descend(const NumberRows& rows, double start) {
  const LearnedKernel kernel = fitted(gaussian(rows, start), rows, {});
  return std::exp(kernel.parameters.front()) * kernel.scaling.x_sd.front();
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : 1e300;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(LearnedKernel, loss_and_slope_of_the_gaussian_are_those_of_leave_one_out) {
  const NumberRows rows = noisy_sine();
  ASSERT_EQ(rows.n(), 80);
  const regress::Sample sample(rows.x, rows.y);
  for (const double h : {0.05, 0.16, 0.5, 3.0}) {
    const LossAndGradient learned = leave_one_out_loss(gaussian(rows, h), rows);
    const regress::ErrorAndSlope expected = regress::gaussian_leave_one_out(sample, h);
    EXPECT_NEAR(learned.loss, expected.error, 1e-12 * expected.error) << h;
    EXPECT_NEAR(learned.gradient.front(), expected.slope, 1e-11) << h;
  }
}

// Expected values: ../shared/reference/kernel.json, lc_cv_ls (direct numpy, scripts/03_kernel_refs.py).
TEST(LearnedKernel, gradients_find_the_cross_validated_bandwidth) {
  EXPECT_NEAR(descend(noisy_sine(), 1.0), 0.15949337759617208, 1e-6);
  const NumberRows mcycle = shared("mcycle.csv");
  if (mcycle.n() == 0) GTEST_SKIP() << "../shared/data/mcycle.csv is not there";
  EXPECT_NEAR(descend(mcycle, 5.0), 0.9138288956302694, 1e-6);
}

TEST(LearnedKernel, the_valley_depends_on_the_start_and_the_best_is_reported) {
  const NumberRows rows = shared("faithful.csv");
  if (rows.n() == 0) GTEST_SKIP() << "../shared/data/faithful.csv is not there";
  EXPECT_NEAR(descend(rows, 1.0), 0.584294, 1e-5);
  EXPECT_NEAR(descend(rows, 0.2), 0.26140699017319835, 1e-6);
}

TEST(LearnedKernel, every_gradient_is_that_of_differences) {
  NumberRows rows = noisy_sine();
  for (const KernelForm form : {KernelForm::kGaussian, KernelForm::kShared, KernelForm::kLinear,
                                KernelForm::kSeparate, KernelForm::kNetwork, KernelForm::kHeads}) {
    const LearnedKernel kernel = new_kernel(form, 3, rows, 7);
    const LossAndGradient at_start = leave_one_out_loss(kernel, rows);
    for (std::size_t p = 0; p < kernel.parameters.size(); p += 5) {
      constexpr double kStep = 1e-5;
      LearnedKernel up = kernel, down = kernel;
      up.parameters[p] += kStep;
      down.parameters[p] -= kStep;
      const double slope =
          (leave_one_out_loss(up, rows).loss - leave_one_out_loss(down, rows).loss) / (2 * kStep);
      EXPECT_NEAR(at_start.gradient[p], slope, 1e-8) << name_of(form) << " " << p;
    }
  }
}

TEST(LearnedKernel, an_outcome_has_no_part_in_its_own_prediction) {
  const NumberRows rows = noisy_sine();
  for (int form = 0; form <= static_cast<int>(KernelForm::kHeads); ++form) {
    const LearnedKernel kernel = new_kernel(static_cast<KernelForm>(form), 3, rows, 1);
    const std::vector<double> before = left_out_values(kernel, rows);
    NumberRows other = rows;
    other.y[17] += 100.0;
    const std::vector<double> after = left_out_values(kernel, other);
    EXPECT_EQ(before[17], after[17]) << form;
    EXPECT_GT(largest_difference(before, after), 0.01) << form;
  }
}

TEST(LearnedKernel, weights_of_a_row_sum_to_one_and_predict_by_their_outcomes) {
  const NumberRows rows = noisy_sine();
  const std::vector<double> places = {-3.0, 2.5, 40.0};
  for (int form = 0; form < static_cast<int>(KernelForm::kHeads); ++form) {
    const LearnedKernel kernel = new_kernel(static_cast<KernelForm>(form), 3, rows, 1);
    const std::vector<double> w = weights(kernel, rows.x, places), f = predict(kernel, rows, places);
    for (std::size_t t = 0; t < places.size(); ++t) {
      double sum = 0.0, mean = 0.0;
      for (std::size_t j = 0; j < rows.y.size(); ++j) {
        sum += w[t * rows.y.size() + j];
        mean += w[t * rows.y.size() + j] * rows.y[j];
      }
      EXPECT_NEAR(sum, 1.0, 1e-12) << form;
      EXPECT_NEAR(mean, f[t], 1e-12) << form;
    }
  }
}

TEST(LearnedKernel, dot_products_less_half_the_square_of_the_key_are_the_gaussian) {
  EXPECT_LT(identity_difference(noisy_sine(), 0.06), 1e-12);
}

// q = (z, 1) / h and k = (z, -z^2 / 2) / h: the identity, written as two matrices.
TEST(LearnedKernel, two_projections_of_squares_can_be_the_gaussian) {
  const NumberRows rows = noisy_sine();
  const double h = 0.5, root = std::sqrt(2.0);
  LearnedKernel kernel = new_kernel(KernelForm::kSeparate, 2, rows, 0);
  const double in_sd = h / kernel.scaling.x_sd.front(), size = root / (in_sd * in_sd);
  kernel.parameters = {0, size, 0, size, 0, 0, 0, 1, 0, 0, 0, -0.5};
  EXPECT_LT(largest_difference(left_out_values(kernel, rows), left_out_values(gaussian(rows, h), rows)),
            1e-12);
}

// A long constant a lifts the parabola so that all keys are nearly of one length: W p . W p_j =
// (a^2 + z z_j + (1/4a^2) z^2 z_j^2 - z^2/2 - z_j^2/2) / h^2, and the term in z^2 z_j^2 goes as 1/a^2.
TEST(LearnedKernel, one_shared_projection_comes_as_close_as_one_likes) {
  const NumberRows rows = noisy_sine();
  const double h = 0.5, a = 1e4, root = std::pow(2.0, 0.25);  // undoes 1 / sqrt(E)
  LearnedKernel kernel = new_kernel(KernelForm::kShared, 2, rows, 0);
  const double in_sd = h / kernel.scaling.x_sd.front(), size = root / in_sd;
  kernel.parameters = {size * a, 0, -size / (2 * a), 0, size, 0};
  EXPECT_LT(largest_difference(left_out_values(kernel, rows), left_out_values(gaussian(rows, h), rows)),
            1e-6);
}

// exp(a(x) z_j): the ratio of the weights of any two rows moves by one and the same power law, so the weights
// are largest at the least or the largest x.
TEST(LearnedKernel, a_linear_feature_only_tilts) {
  const NumberRows rows = noisy_sine();
  const LearnedKernel kernel =
      fitted(new_kernel(KernelForm::kLinear, 4, rows, 3), rows, {.steps = 50, .rate = 0.2, .seed = 3});
  const std::vector<double> keys = {0.0, 2.0, 4.0, 6.0, 8.0, 10.0};
  const std::vector<double> w = weights(kernel, keys, std::vector<double>{5.0});
  for (std::size_t j = 1; j + 1 < keys.size(); ++j)
    EXPECT_NEAR(std::log(w[j - 1]) + std::log(w[j + 1]), 2.0 * std::log(w[j]), 1e-9);
}

}  // namespace
}  // namespace headtorch::train
