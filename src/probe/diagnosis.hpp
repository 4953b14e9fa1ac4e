#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/probe/head_report.hpp"
#include "src/probe/training_curve.hpp"

// What is wrong with a training, from numbers alone (docs/diagnosis.md: the runs that the thresholds come
// from).

namespace headtorch::probe {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// How sharp the heads are and where the gradient goes, at one step; NaN: not known.
struct HeadSigns {
  double score_sd = kUnknown;  ///< of a row's scores over visible keys
  double qk_share = kUnknown;  ///< of query and key weights in the squared norm of the gradient
  double entropy_normalised = kUnknown;
};

/// Everything a diagnosis is made from; NaN: not known or does not apply.
struct Signs {
  // What was set.
  bool learned_scores = true;  ///< false: fixed kernels, which have no queries and keys to judge
  bool has_rule = true;        ///< false: a text, of which nobody can know every character
  std::int64_t n_heads = 1, d_model = 1;
  double scale_ratio = kUnknown;    ///< factor on q.k times sqrt(features a head): 1 is usual; NaN: learned
  double dropout = 0.0;             ///< the largest of the kinds
  double lr = 0.0, usual_lr = 0.0;  ///< peak; what the task's defaults set
  std::int64_t warmup = 0, batch = 0;
  double entropy_weight = 0.0;  ///< of the reward for entropy in the loss
  double passes = kUnknown;     ///< over the training data; NaN: it has no end

  // How training went.
  TrainingCurve curve = {};
  HeadSigns start = {}, at_150 = {};

  // What the model does.
  std::string non_finite_at = {};  ///< module; empty: finite
  double largest_leak = kUnknown;
  std::string leak_place = {};
  double dropout_correlation = kUnknown, permutation_difference = kUnknown;
  double train_loss = kUnknown, test_loss = kUnknown;
  double train_accuracy = kUnknown, test_accuracy = kUnknown;
  std::vector<HeadReport> heads = {};  ///< may be empty
};

enum class Severity {
  kNote,     ///< worth knowing
  kWarning,  ///< costs something, or may
  kFault,    ///< keeps the model from learning, or makes its results wrong
};
std::string_view severity_name(Severity severity);

struct Finding {
  std::string cause = {};  ///< "scale too large"
  std::string sign = {};   ///< the number that says so: "entropy of the heads before training"
  double value = 0.0, threshold = 0.0;
  std::string remedy = {};  ///< what to try, in words
  std::string flag = {};    ///< "--scale sqrt"; empty where no flag does it
  Severity severity = Severity::kFault;
};

// Thresholds. (M): design/metrics.md's broken runs. (D): measured for docs/diagnosis.md.
inline constexpr double kEquivariant = 1e-4;  ///< (M) permutation difference below: order is not seen
inline constexpr double kSmallSd = 0.1;  ///< (M) score sd before training below: nearly uniform heads ...
inline constexpr double kStillSmallSd = 0.3;   ///< (M) ... that did not recover by step 150 ...
inline constexpr double kSmallQkShare = 0.01;  ///< (M) ... and get next to no gradient
inline constexpr double kSmallScale = 0.25;    ///< (D) scale ratio below: slower even where it recovers
inline constexpr double kSharpEntropy = 0.1;   ///< (M) entropy before training below, and ...
inline constexpr double kSharpSd = 10.0;       ///< (M) ... score sd above: one-hot from the start
inline constexpr double kRaisedSd = 5.0;  ///< (D) score sd at step 150 above, after a good start; (M) has 8
inline constexpr double kHighSd = 50.0;   ///< (M) the same, and heads cannot move any more
inline constexpr double kMuchReward =
    10.0;  ///< reward for entropy over the first loss above: nothing else counts
inline constexpr double kLossRise = 1.3;  ///< (D) highest loss over the first one above: thrown off
inline constexpr double kUnmoved =
    0.15;  ///< (M) sd and entropy at step 150 within this share of their start ...
inline constexpr double kUnmovedLoss = 0.2;  ///< (D) ... and the loss fell by less than this share
inline constexpr double kLowCorrelation =
    0.2;                                     ///< (M) of two training passes below: dropout drowns the signal
inline constexpr double kMuchDropout = 0.5;  ///< below, another fault explains such a correlation
inline constexpr double kSolved = 0.95;      ///< (M) token accuracy from which a task with a rule is solved
inline constexpr double kLateFall = 0.015;   ///< (D) share by which the last quarter's loss is still lower
inline constexpr double kGap = 0.25;         ///< (D) (test - train loss) / train loss above: overfitted
inline constexpr double kManyPasses = 10.0;  ///< (D) over the training data, beside such a gap
inline constexpr std::int64_t kFewFeatures = 4;  ///< (D) features a head below
inline constexpr double kCollapsed = 0.1;  ///< (D) a head's entropy after training below, task not solved
inline constexpr double kSink = 0.3;  ///< Gu et al. 2024, arXiv:2410.10781: weight on one key, less chance

struct Diagnosis {
  std::vector<Finding> findings;  ///< what to do first stands first: in the order of metrics.md's remedies
  bool failed = false;  ///< a check that must hold does not: a leak, or a forward pass that is not finite
};
Diagnosis diagnose(const Signs& signs);

}  // namespace headtorch::probe
