#include "src/probe/diagnosis.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

namespace headtorch::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Losses given, norms 1.
std::vector<CurveStep> steps_of(const std::vector<double>& losses) {
  std::vector<CurveStep> steps;
  for (const double loss : losses) steps.push_back({std::ssize(steps) + 1, loss, 1.0, false, false});
  return steps;
}

/// 200 steps on a plateau of 3, then 200 at 0.1.
std::vector<CurveStep> learned() {
  std::vector<double> losses(200, 3.0);
  losses.resize(400, 0.1);
  return steps_of(losses);
}

/// Of a run of the task reverse that went well.
Signs healthy() {
  Signs signs;
  signs.n_heads = 2;
  signs.d_model = 64;
  signs.scale_ratio = 1.0;
  signs.dropout = 0.1;
  signs.lr = signs.usual_lr = 2e-3;
  signs.warmup = 50;
  signs.curve = read_curve(learned());
  signs.start = {0.9, 0.04, 0.86};
  signs.at_150 = {2.0, 0.4, 0.3};
  signs.dropout_correlation = 0.9;
  signs.permutation_difference = 3.0;
  signs.train_loss = signs.test_loss = 0.01;
  signs.train_accuracy = signs.test_accuracy = 1.0;
  return signs;
}

HeadReport head_with(const std::string& name, double value, double chance) {
  HeadReport head;
  head.scores.push_back({name, {.value = value, .chance = chance}});
  return head;
}

std::vector<std::string> causes(const Signs& signs) {
  std::vector<std::string> list;
  for (const Finding& finding : diagnose(signs).findings) list.push_back(finding.cause);
  return list;
}

Signs with(const std::function<void(Signs&)>& change) {
  Signs signs = healthy();
  change(signs);
  return signs;
}

void unsolved(Signs& signs) {
  signs.train_accuracy = signs.test_accuracy = 0.3;
  signs.train_loss = signs.test_loss = 2.0;
}

// --- the curve
// -----------------------------------------------------------------------------------------------------

TEST(TrainingCurve, Takes_off_where_the_largest_lasting_fall_is) {
  std::vector<double> losses(100, 4.0);
  losses.resize(130, 1.0);  // falls further than the one below, but comes back
  losses.resize(300, 4.0);
  losses.resize(600, 2.0);
  const TrainingCurve curve = read_curve(steps_of(losses));
  ASSERT_TRUE(curve.take_off.has_value());
  EXPECT_EQ(*curve.take_off, 301);
  EXPECT_DOUBLE_EQ(curve.take_off_from, 4.0);
  EXPECT_DOUBLE_EQ(curve.take_off_to, 2.0);
  EXPECT_FALSE(read_curve(steps_of(std::vector<double>(300, 2.0))).take_off.has_value());
}

TEST(TrainingCurve, Means_are_over_windows_and_leave_out_what_is_not_finite) {
  std::vector<double> losses(400);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = 400.0 - static_cast<double>(i);
  losses[399] = std::numeric_limits<double>::quiet_NaN();
  const TrainingCurve curve = read_curve(steps_of(losses));  // windows of 20
  EXPECT_DOUBLE_EQ(curve.first_loss, 400.0);
  EXPECT_DOUBLE_EQ(curve.highest_loss, 390.5);            // 400 .. 381
  EXPECT_DOUBLE_EQ(curve.early_loss, 260.5);              // steps 131 .. 150: 270 .. 251
  EXPECT_DOUBLE_EQ(curve.last_loss, 11.0);                // 20 .. 2
  EXPECT_DOUBLE_EQ(curve.late_fall, 1.0 - 51.0 / 150.5);  // 100 .. 2 beside 200 .. 101
}

TEST(TrainingCurve, A_spike_stands_out_from_the_median_of_the_steps_before) {
  std::vector<CurveStep> steps = learned();
  steps[4].grad_norm = 100.0;  // before there is anything to stand out from
  steps[50].grad_norm = 5.0;
  steps[60].grad_norm = 5.1;
  steps[70].grad_norm = std::numeric_limits<double>::quiet_NaN();
  steps[80].clipped = steps[81].non_finite = true;
  const TrainingCurve curve = read_curve(steps);
  EXPECT_THAT(curve.spikes, ElementsAre(61));
  EXPECT_DOUBLE_EQ(curve.clipped_share, 1.0 / 400.0);
  EXPECT_EQ(curve.non_finite_steps, 1);
}

TEST(TrainingCurve, Short_runs_say_what_is_not_known) {
  EXPECT_EQ(read_curve({}).steps, 0);
  const TrainingCurve one = read_curve(steps_of({2.5}));
  EXPECT_DOUBLE_EQ(one.first_loss, 2.5);
  EXPECT_TRUE(std::isnan(one.last_loss));
  const TrainingCurve some = read_curve(steps_of(std::vector<double>(40, 2.0)));
  EXPECT_TRUE(std::isnan(some.early_loss));
  EXPECT_DOUBLE_EQ(some.late_fall, 0.0);
  std::vector<CurveStep> lost = steps_of(std::vector<double>(40, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(std::isnan(read_curve(lost).highest_loss));
}

// --- causes
// --------------------------------------------------------------------------------------------------------

TEST(Diagnosis, Nothing_is_found_in_a_healthy_run_or_in_one_of_which_nothing_is_known) {
  EXPECT_THAT(causes(healthy()), IsEmpty());
  Signs unknown;
  unknown.d_model = 64;
  EXPECT_THAT(causes(unknown), IsEmpty());
}

TEST(Diagnosis, Each_sign_names_its_cause) {
  const std::vector<std::pair<std::string, std::function<void(Signs&)>>> cases = {
      {"not finite", [](Signs& s) { s.non_finite_at = "encoder.norm"; }},
      {"leak", [](Signs& s) { s.largest_leak = 1e-30; }},
      {"no positions", [](Signs& s) { s.permutation_difference = 9e-5; }},
      {"scale too small",
       [](Signs& s) {
         s.start = {0.05, 0.0001, 0.999};
         s.scale_ratio = 0.06;
       }},
      {"scale too small",
       [](Signs& s) {
         s.start = {0.05, 0.0001, 0.999};
         s.at_150 = {0.29, 0.009, 0.99};
       }},
      {"scale too large",
       [](Signs& s) {
         s.start = {31.0, 0.92, 0.02};
       }},
      {"query and key weights are zero",
       [](Signs& s) {
         s.start = {0.0, 0.0, 1.0};
         s.at_150 = {0.0, 0.0, 1.0};
       }},
      {"rate too high", [](Signs& s) { s.at_150.score_sd = 5.1; }},
      {"rate too high", [](Signs& s) { s.curve.non_finite_steps = 1; }},
      {"rate too high", [](Signs& s) { s.curve.highest_loss = 1.4 * s.curve.first_loss; }},
      {"rate too low",
       [](Signs& s) {
         unsolved(s);
         s.at_150 = {0.91, 0.04, 0.86};
         s.curve.early_loss = 0.81 * s.curve.first_loss;
       }},
      {"too little training",
       [](Signs& s) {
         unsolved(s);
         s.curve.late_fall = 0.02;
       }},
      {"too little data",
       [](Signs& s) {
         unsolved(s);
         s.train_loss = 1.0;
         s.passes = 40.0;
       }},
      {"dropout too low",
       [](Signs& s) {
         unsolved(s);
         s.train_loss = 1.0;
         s.dropout = 0.0;
         s.curve.late_fall = 0.0;
       }},
      {"dropout too high", [](Signs& s) { s.dropout_correlation = 0.19; }},
      {"too many heads for the width", [](Signs& s) { s.n_heads = 32; }},
      {"collapsed heads",
       [](Signs& s) {
         unsolved(s);
         s.curve.late_fall = 0.0;
         s.heads = {head_with("entropy_normalised", 0.09, 1.0)};
       }},
      {"a token soaks up weight", [](Signs& s) { s.heads = {head_with("sink", 0.5, 0.1)}; }},
  };
  for (const auto& [cause, change] : cases) EXPECT_THAT(causes(with(change)), ElementsAre(cause)) << cause;
}

TEST(Diagnosis, Just_inside_the_thresholds_nothing_is_said) {
  EXPECT_THAT(causes(with([](Signs& s) {
                s.permutation_difference = 1.1e-4;
                s.at_150.score_sd = 5.0;
                s.dropout_correlation = 0.2;
                s.largest_leak = 0.0;
                s.n_heads = 16;
                s.curve.highest_loss = 1.3 * s.curve.first_loss;
                s.heads = {head_with("sink", 0.39, 0.1)};
              })),
              IsEmpty());
  // Small initial weights that recovered: what init = normal does.
  EXPECT_THAT(causes(with([](Signs& s) { s.start = {0.02, 0.00001, 1.0}; })), IsEmpty());
  // Fixed kernels have no scores to judge: their spread says nothing of a rate.
  EXPECT_THAT(causes(with([](Signs& s) {
                s.learned_scores = false;
                s.start = s.at_150 = {0.0, 0.0, 1.0};
              })),
              IsEmpty());
}

TEST(Diagnosis, What_to_do_first_stands_first_and_each_number_stands_beside_its_threshold) {
  const Signs signs = with([](Signs& s) {
    unsolved(s);
    s.permutation_difference = 0.0;
    s.start = {31.0, 0.92, 0.02};
    s.dropout = 0.9;
    s.dropout_correlation = 0.03;
    s.heads = {head_with("entropy_normalised", 0.003, 1.0)};
  });
  EXPECT_THAT(causes(signs),
              ElementsAre("no positions", "scale too large", "dropout too high", "collapsed heads"));
  const Finding scale = diagnose(signs).findings[1];
  EXPECT_DOUBLE_EQ(scale.value, 0.02);
  EXPECT_DOUBLE_EQ(scale.threshold, kSharpEntropy);
  EXPECT_EQ(scale.severity, Severity::kFault);
}

TEST(Diagnosis, Only_a_leak_and_what_is_not_finite_fail) {
  EXPECT_TRUE(diagnose(with([](Signs& s) { s.largest_leak = 1e-38; })).failed);
  EXPECT_TRUE(diagnose(with([](Signs& s) { s.non_finite_at = "output"; })).failed);
  EXPECT_FALSE(diagnose(with([](Signs& s) { s.dropout_correlation = 0.0; })).failed);
}

TEST(Diagnosis, A_task_that_needs_no_order_may_do_without_positions) {
  const auto severity = [](double accuracy) {
    return diagnose(with([&](Signs& s) {
             s.permutation_difference = 0.0;
             s.test_accuracy = accuracy;
           }))
        .findings[0]
        .severity;
  };
  EXPECT_EQ(severity(0.99), Severity::kNote);
  EXPECT_EQ(severity(0.24), Severity::kFault);
}

TEST(Diagnosis, A_remedy_is_a_flag_to_set) {
  const auto flag = [](const std::function<void(Signs&)>& change) {
    return diagnose(with(change)).findings.at(0).flag;
  };
  EXPECT_EQ(flag([](Signs& s) {
              s.lr = 0.1;
              s.at_150.score_sd = 60.0;
            }),
            "--lr 0.002");
  EXPECT_EQ(flag([](Signs& s) {
              s.warmup = 0;
              s.lr = 0.003;
              s.at_150.score_sd = 60.0;
            }),
            "--lr 0.001 --warmup 40");
  EXPECT_THAT(flag([](Signs& s) { s.n_heads = 64; }), StartsWith("--n-heads 2"));
  EXPECT_EQ(flag([](Signs& s) {
              s.start = {31.0, 0.92, 0.02};
              s.scale_ratio = 170.0;
            }),
            "--scale sqrt");
}

TEST(Diagnose, BlamesAnAbsurdRewardForEntropyAndNotTheRate) {
  const auto thrown_off = [](double weight) {
    return with([weight](Signs& s) {
      s.entropy_weight = weight;
      s.curve.highest_loss = 1.4 * s.curve.first_loss;
      s.test_accuracy = 0.1;
    });
  };
  EXPECT_THAT(causes(thrown_off(1000.0)), ::testing::Contains("entropy weight too high"));
  EXPECT_THAT(causes(thrown_off(1000.0)), ::testing::Not(::testing::Contains("rate too high")));
  EXPECT_THAT(causes(thrown_off(1.0)), ::testing::Contains("rate too high"));
}

}  // namespace
}  // namespace headtorch::probe
