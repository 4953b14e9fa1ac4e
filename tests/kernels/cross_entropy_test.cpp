#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(CrossEntropyOfEverySet);

struct Result {
  Result(const Kernels& kernels, const Floats& logits, const std::vector<std::int64_t>& labels,
         float smoothing)
      : gradient(copy_of(logits)) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    kernels.cross_entropy({.rows = rows,
                           .classes = logits.size() / rows,
                           .logits = gradient.data(),
                           .labels = labels.data(),
                           .smoothing = smoothing,
                           .loss = &loss});
  }
  double loss = -1.0;
  Floats gradient;
};

/// loss = log sum exp x - (1 - s) x[label] - s mean(x); its gradient is softmax - (1 - s) [label] - s / C.
void expect_its_definition(const Kernels& kernels, const Floats& logits,
                           const std::vector<std::int64_t>& labels, float smoothing) {
  const Result out(kernels, logits, labels, smoothing);
  const auto rows = static_cast<std::int64_t>(labels.size()), classes = logits.size() / rows;
  const auto s = static_cast<double>(smoothing), share = s / static_cast<double>(classes);
  Sum loss;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* x = logits.data() + i * classes;
    const std::int64_t label = labels[static_cast<std::size_t>(i)];
    if (label < 0) {
      for (std::int64_t j = 0; j < classes; ++j) ASSERT_EQ(out.gradient[i * classes + j], 0.0F);
      continue;
    }
    const auto most = static_cast<double>(*std::max_element(x, x + classes));
    double total = 0.0;
    for (std::int64_t j = 0; j < classes; ++j) total += std::exp(static_cast<double>(x[j]) - most);
    loss.add(std::log(total) + most, 1.0 + std::log(total));  // `most` itself is exact
    loss.add(-(1.0 - s) * static_cast<double>(x[label]), 0.0);
    for (std::int64_t j = 0; s > 0.0 && j < classes; ++j) loss.add(-share * static_cast<double>(x[j]));
    Sum row_sum;
    for (std::int64_t j = 0; j < classes; ++j) {
      // The error of x - most is the power's relative error.
      const double p = std::exp(static_cast<double>(x[j]) - most) / total,
                   growth = 1.0 + std::min(most - static_cast<double>(x[j]), 100.0);
      Sum gradient;
      gradient.add(p, p * growth);
      gradient.add(-share);
      if (j == label) gradient.add(-(1.0 - s));
      ASSERT_TRUE(close(out.gradient[i * classes + j], gradient)) << i << ' ' << j;
      row_sum.add(static_cast<double>(out.gradient[i * classes + j]), p + share + (j == label ? 1.0 : 0.0));
    }
    ASSERT_TRUE(close(0.0, row_sum)) << "row " << i;
  }
  ASSERT_TRUE(close(out.loss, loss));
}

TEST_P(CrossEntropyOfEverySet, is_its_definition) {
  Random random(41, 0);
  std::vector<std::int64_t> classes = {64, 100, 1000};
  for (std::int64_t c = 1; c <= 40; ++c) classes.push_back(c);
  for (const std::int64_t c : classes) {
    for (const float smoothing : {0.0F, 0.1F, 0.5F}) {
      for (const double largest : {1.0, 20.0, 1e4}) {
        SCOPED_TRACE(::testing::Message()
                     << c << " classes, smoothing " << smoothing << ", up to " << largest);
        std::vector<std::int64_t> labels(static_cast<std::size_t>(between(random, 1, 9)));
        for (std::int64_t& label : labels) label = random.below(5) == 0 ? -1 : random.below(c);
        const Floats logits = random_floats(random, c * static_cast<std::int64_t>(labels.size()), largest);
        expect_its_definition(*kernels, logits, labels, smoothing);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CrossEntropyOfEverySet, the_gradient_is_the_slope_of_the_loss) {
  Random random(42, 0);
  const Floats logits = random_floats(random, 7);
  const std::vector<std::int64_t> labels = {3};
  const Result out(*kernels, logits, labels, 0.2F);
  for (std::int64_t j = 0; j < 7; ++j) {
    Floats up = copy_of(logits), down = copy_of(logits);
    up[j] += 0.01F;
    down[j] -= 0.01F;
    const double step = static_cast<double>(up[j]) - static_cast<double>(down[j]);
    EXPECT_NEAR((Result(*kernels, up, labels, 0.2F).loss - Result(*kernels, down, labels, 0.2F).loss) / step,
                static_cast<double>(out.gradient[j]), 3e-5);
  }
}

TEST_P(CrossEntropyOfEverySet, the_sum_over_many_rows_is_kept_in_double) {
  const std::int64_t rows = 100000;
  const Floats logits(rows * 2, 0.0F);
  const std::vector<std::int64_t> labels(static_cast<std::size_t>(rows), 1);
  EXPECT_NEAR(Result(*kernels, logits, labels, 0.0F).loss, static_cast<double>(rows) * std::log(2.0), 1e-6);
}

TEST_P(CrossEntropyOfEverySet, rows_without_a_label_are_not_read) {
  Floats logits(2 * 21, kNaN);
  std::fill(logits.begin(), logits.begin() + 21, 0.0F);
  const Result out(*kernels, logits, {4, -1}, 0.1F);
  EXPECT_NEAR(out.loss, std::log(21.0), 1e-6);
  for (std::int64_t j = 21; j < 42; ++j) EXPECT_EQ(out.gradient[j], 0.0F);
  EXPECT_EQ(Result(*kernels, logits, {-1, -5}, 0.0F).loss, 0.0);
}

TEST_P(CrossEntropyOfEverySet, a_class_that_cannot_be_has_no_share) {
  Random random(43, 0);
  for (const std::int64_t classes : {2, 7, 16, 40}) {
    for (std::int64_t hidden = 0; hidden < classes; ++hidden) {
      Floats logits = random_floats(random, classes);
      logits[hidden] = -kInfinity;
      const std::int64_t label = (hidden + 1) % classes;
      double total = 0.0;
      for (const float x : logits) total += std::exp(static_cast<double>(x));
      const Result out(*kernels, logits, {label}, 0.0F);
      ASSERT_NEAR(out.loss, std::log(total) - static_cast<double>(logits[label]), 1e-6);
      for (std::int64_t j = 0; j < classes; ++j) {
        const double p = std::exp(static_cast<double>(logits[j])) / total;
        ASSERT_NEAR(out.gradient[j], p - (j == label ? 1.0 : 0.0), 1e-6);
      }
      EXPECT_EQ(out.gradient[hidden], 0.0F);
      EXPECT_EQ(Result(*kernels, logits, {label}, 0.1F).loss, HUGE_VAL);
      EXPECT_EQ(Result(*kernels, logits, {hidden}, 0.0F).loss, HUGE_VAL);
    }
  }
}

TEST_P(CrossEntropyOfEverySet, a_logit_that_is_not_a_number_marks_the_loss_and_its_row) {
  for (const std::int64_t classes : {1, 2, 7, 16, 40}) {
    for (std::int64_t bad = 0; bad < classes; ++bad) {
      for (const float others : {0.0F, -kInfinity}) {
        for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0x7fffffffu}) {
          Floats logits(2 * classes, 0.0F);
          std::fill(logits.begin() + classes, logits.end(), others);
          std::memcpy(&logits[classes + bad], &bits, sizeof bits);
          for (const float smoothing : {0.0F, 0.1F}) {
            const Result out(*kernels, logits, {0, 0}, smoothing);
            ASSERT_TRUE(std::isnan(out.loss)) << classes << ' ' << bad << ' ' << others << std::hex << bits;
            for (std::int64_t j = 0; j < classes; ++j) {
              ASSERT_FALSE(std::isnan(out.gradient[j]));
              ASSERT_TRUE(std::isnan(out.gradient[classes + j]));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
