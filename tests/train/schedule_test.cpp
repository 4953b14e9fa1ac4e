#include "train/schedule.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace headtorch::train {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

TrainOptions options(Schedule schedule, std::int64_t steps, std::int64_t warmup) {
  TrainOptions options;
  options.schedule = schedule;
  options.steps = steps;
  options.warmup = warmup;
  options.lr = 6e-4;
  options.min_lr = 6e-5;
  return options;
}

std::vector<double> rates(const TrainOptions& options, std::int64_t steps) {
  std::vector<double> rates;
  for (std::int64_t step = 1; step <= steps; ++step) rates.push_back(learning_rate(options, step));
  return rates;
}

// Computed with Python from the formulas in the header: warmup (it+1)/warmup, cosine over the six steps that
// are left.
TEST(Schedule, G25_cosine_after_warmup) {
  const std::vector<double> expected = {1.5e-4, 3e-4,    4.5e-4,      6e-4, 5.638269e-4, 4.65e-4,
                                        3.3e-4, 1.95e-4, 9.617314e-5, 6e-5, 6e-5,        6e-5};
  EXPECT_THAT(rates(options(Schedule::kCosine, 10, 4), 12), Pointwise(DoubleNear(1e-10), expected));
}

TEST(Schedule, G25_every_schedule_is_sane_for_every_warmup) {
  for (const Schedule schedule : {Schedule::kCosine, Schedule::kLinear, Schedule::kInverseSqrt,
                                  Schedule::kWarmupStableDecay, Schedule::kConstant}) {
    for (const std::int64_t steps : {1, 2, 10}) {
      for (const std::int64_t warmup : {0, 1, 4, 10, 20}) {
        TrainOptions some = options(schedule, steps, warmup);
        some.min_lr = 0.0;
        const std::vector<double> all = rates(some, steps + 12);
        EXPECT_GT(all.front(), 0.0) << "steps " << steps << " warmup " << warmup;
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_TRUE(std::isfinite(all[i]) && all[i] >= 0.0 && all[i] <= some.lr) << "step " << i + 1;
          if (static_cast<std::int64_t>(i) >= 1 && static_cast<std::int64_t>(i) < warmup) {
            EXPECT_GT(all[i], all[i - 1]) << "the warmup falls at step " << i + 1;
          }
        }
        if (warmup >= 1 && warmup <= steps + 12) {
          EXPECT_DOUBLE_EQ(all[static_cast<std::size_t>(warmup) - 1], some.lr) << "the peak is not reached";
        }
      }
    }
  }
}

// Vaswani et al. 2017, eq. 3, with d_model 512 and warmup 4000; the values of reference/attention.json.
TEST(Schedule, G25_inverse_square_root_is_noams) {
  TrainOptions noam = options(Schedule::kInverseSqrt, 100000, 4000);
  noam.lr = 1.0 / std::sqrt(512.0 * 4000.0);
  EXPECT_NEAR(learning_rate(noam, 1), 1.746928107421711e-07, 1e-18);
  EXPECT_NEAR(learning_rate(noam, 100), 1.746928107421711e-05, 1e-16);
  EXPECT_NEAR(learning_rate(noam, 4000), 0.0006987712429686843, 1e-15);
  EXPECT_NEAR(learning_rate(noam, 16000), 0.00034938562148434214, 1e-15);
}

TEST(Schedule, Linear_halves_half_way) {
  TrainOptions linear = options(Schedule::kLinear, 101, 1);
  linear.min_lr = 0.0;
  EXPECT_NEAR(learning_rate(linear, 51), linear.lr / 2.0, 1e-15);
}

TEST(Schedule, Warmup_stable_decay_falls_in_the_last_fifth) {
  TrainOptions wsd = options(Schedule::kWarmupStableDecay, 100, 10);
  wsd.min_lr = 0.0;
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 80), wsd.lr);
  EXPECT_NEAR(learning_rate(wsd, 85), wsd.lr * 0.5, 1e-15);  // a quarter of the way: 1 - sqrt(1/4)
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 100), 0.0);
}

}  // namespace
}  // namespace headtorch::train
