#include "src/probe/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headtorch::probe {
namespace {

/// All NaN where the report has no such score.
Score score_of(const HeadReport& head, std::string_view name) {
  for (const NamedScore& one : head.scores) {
    if (one.name == name) return one.score;
  }
  return {};
}

/// Findings in the order of their remedies; later causes ask whether an earlier one already explains the run.
class Diagnostician {
 public:
  explicit Diagnostician(const Signs& signs) : signs_(signs) {}

  Diagnosis run() {
    non_finite();
    masks();
    if (signs_.learned_scores) scale();
    if (signs_.learned_scores) initialisation();
    entropy_reward();
    rate();
    steps();
    dropout();
    if (signs_.learned_scores) head_count();
    if (signs_.learned_scores) collapsed_heads();
    sink();
    return std::move(result_);
  }

 private:
  void add(Finding finding) { result_.findings.push_back(std::move(finding)); }

  bool has_fault() const {
    return std::any_of(result_.findings.begin(), result_.findings.end(),
                       [](const Finding& finding) { return finding.severity == Severity::kFault; });
  }

  bool solved() const { return signs_.has_rule && signs_.test_accuracy >= kSolved; }

  /// Whether heads were as sharp before the first step as good starts make them.
  bool started_well() const {
    return signs_.start.score_sd >= kSmallSd && signs_.start.score_sd <= kSharpSd &&
           signs_.start.entropy_normalised >= kSharpEntropy;
  }

  void non_finite() {
    if (signs_.non_finite_at.empty()) return;
    result_.failed = true;
    add({.cause = "not finite",
         .sign = "values in the output of " + signs_.non_finite_at,
         .value = std::numeric_limits<double>::infinity(),
         .threshold = std::numeric_limits<double>::max(),
         .remedy = "train again with a lower rate, or clip the gradient",
         .flag = lower_rate()});
  }

  void masks() {
    if (signs_.largest_leak > 0.0) {
      result_.failed = true;
      add({.cause = "leak",
           .sign = "what positions know of later tokens, in " + signs_.leak_place,
           .value = signs_.largest_leak,
           .threshold = 0.0,
           .remedy = "correct the mask; results of this model mean nothing"});
    }
    if (signs_.permutation_difference < kEquivariant) {
      add({.cause = "no positions",
           .sign = "change of the permuted output when the input is permuted",
           .value = signs_.permutation_difference,
           .threshold = kEquivariant,
           .remedy =
               "tell the model where a token stands; right only for tasks in which order does not matter",
           .flag = "--position learned",
           .severity = solved() ? Severity::kNote : Severity::kFault});
    }
  }

  void scale() {
    const auto& [start, later] = std::pair(signs_.start, signs_.at_150);
    if (start.score_sd < kSmallSd && start.score_sd > 0.0) {
      const bool recovered = !(later.score_sd < kStillSmallSd && later.qk_share < kSmallQkShare);
      const bool small_scale = signs_.scale_ratio < kSmallScale;
      if (small_scale || !recovered) {
        add({.cause = "scale too small",
             .sign = recovered ? "spread of scores before training" : "spread of scores at step 150",
             .value = recovered ? start.score_sd : later.score_sd,
             .threshold = recovered ? kSmallSd : kStillSmallSd,
             .remedy = small_scale ? "scores as large as their features make them"
                                   : "larger initial query and key weights",
             .flag = small_scale ? "--scale sqrt" : "--init xavier",
             .severity = recovered || solved() ? Severity::kWarning : Severity::kFault});
      }
    }
    if (start.entropy_normalised < kSharpEntropy && start.score_sd > kSharpSd) {
      add({.cause = "scale too large",
           .sign = "entropy of the heads before training",
           .value = start.entropy_normalised,
           .threshold = kSharpEntropy,
           .remedy = signs_.scale_ratio > 1.0 ? "scores divided by the root of the features a head"
                                              : "smaller initial query and key weights",
           .flag = signs_.scale_ratio > 1.0 ? "--scale sqrt" : "--qk-gain 1"});
    }
  }

  void initialisation() {
    if (signs_.start.score_sd != 0.0 || signs_.start.qk_share != 0.0) return;
    if (signs_.at_150.score_sd > 0.0) return;
    add({.cause = "query and key weights are zero",
         .sign = "spread of scores and share of query and key weights in the gradient",
         .value = 0.0,
         .threshold = 0.0,
         .remedy = "weights that are not zero: from zero, both get a gradient of zero and stay there",
         .flag = "--init xavier --qk-gain 1"});
  }

  std::string lower_rate() const {
    const double lower = signs_.lr > 2.0 * signs_.usual_lr ? signs_.usual_lr : signs_.lr / 3.0;
    return fmt::format("--lr {:.2g}", lower);
  }

  std::string longer_warmup() const {
    const std::int64_t enough = std::max<std::int64_t>(signs_.curve.steps / 10, 20);
    return signs_.warmup < enough ? fmt::format(" --warmup {}", enough) : "";
  }

  /// The largest reward for entropy (normalised entropy is 1 at most) over the task's own loss.
  double reward() const {
    return signs_.curve.first_loss > 0.0 ? signs_.entropy_weight / signs_.curve.first_loss : 0.0;
  }

  void entropy_reward() {
    if (!(reward() > kMuchReward)) return;
    add({.cause = "entropy weight too high",
         .sign = "reward for entropy over the first loss",
         .value = reward(),
         .threshold = kMuchReward,
         .remedy = "a smaller reward: beside this one the task hardly counts, and heads stay uniform",
         .flag = "--entropy-weight 1",
         .severity = solved() ? Severity::kWarning : Severity::kFault});
  }

  void rate() {
    if (reward() > kMuchReward) return;
    if (has_fault() && signs_.non_finite_at.empty() && !started_well()) return;
    const TrainingCurve& curve = signs_.curve;
    const std::string slower = lower_rate() + longer_warmup();
    const bool heads_judged = signs_.learned_scores && started_well();
    if (curve.non_finite_steps > 0) {
      add({.cause = "rate too high",
           .sign = "steps whose loss or gradient was not finite",
           .value = static_cast<double>(curve.non_finite_steps),
           .threshold = 0.0,
           .remedy = "a lower rate, a longer warmup",
           .flag = slower});
    } else if (heads_judged && signs_.at_150.score_sd > kHighSd) {
      add({.cause = "rate too high",
           .sign = "spread of scores at step 150",
           .value = signs_.at_150.score_sd,
           .threshold = kHighSd,
           .remedy = "a lower rate, a longer warmup",
           .flag = slower});
    } else if (curve.highest_loss > kLossRise * curve.first_loss) {
      add({.cause = "rate too high",
           .sign = "highest loss over the first one",
           .value = curve.highest_loss / curve.first_loss,
           .threshold = kLossRise,
           .remedy = "a lower rate, a longer warmup",
           .flag = slower});
    } else if (heads_judged && signs_.at_150.score_sd > kRaisedSd) {
      add({.cause = "rate too high",
           .sign = "spread of scores at step 150",
           .value = signs_.at_150.score_sd,
           .threshold = kRaisedSd,
           .remedy = "a lower rate or a longer warmup",
           .flag = slower,
           .severity = Severity::kWarning});
    } else if (heads_judged && !solved() && stands_still() && !drowned()) {
      add({.cause = "rate too low",
           .sign = "share of its start by which the loss fell in 150 steps",
           .value = 1.0 - curve.early_loss / curve.first_loss,
           .threshold = kUnmovedLoss,
           .remedy = "a higher rate",
           .flag = fmt::format("--lr {:.2g}",
                               signs_.lr < signs_.usual_lr / 2.0 ? signs_.usual_lr : signs_.lr * 3.0)});
    }
  }

  bool stands_still() const {
    const auto unmoved = [](double start, double now) { return std::abs(now - start) <= kUnmoved * start; };
    return unmoved(signs_.start.score_sd, signs_.at_150.score_sd) &&
           unmoved(signs_.start.entropy_normalised, signs_.at_150.entropy_normalised) &&
           signs_.curve.early_loss >= (1.0 - kUnmovedLoss) * signs_.curve.first_loss;
  }

  bool drowned() const { return signs_.dropout_correlation < kLowCorrelation; }

  double gap() const { return (signs_.test_loss - signs_.train_loss) / signs_.train_loss; }

  void steps() {
    if (has_fault() || drowned()) return;
    if (gap() > kGap && !solved() && signs_.passes > kManyPasses) {
      add({.cause = "too little data",
           .sign = "passes over the training data, beside a test loss far above the training loss",
           .value = signs_.passes,
           .threshold = kManyPasses,
           .remedy = "more data, or fewer steps",
           .flag = fmt::format(
               "--steps {}",
               std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(signs_.curve.steps) *
                                                                kManyPasses / signs_.passes),
                                      1)),
           .severity = Severity::kWarning});
    } else if (signs_.curve.late_fall > kLateFall && signs_.train_accuracy < kSolved) {
      add({.cause = "too little training",
           .sign = "share by which the last quarter's loss lies below that of the quarter before",
           .value = signs_.curve.late_fall,
           .threshold = kLateFall,
           .remedy = "more steps",
           .flag = fmt::format("--steps {}", 3 * signs_.curve.steps),
           .severity = signs_.has_rule ? Severity::kWarning : Severity::kNote});
    }
  }

  void dropout() {
    // A model that is broken otherwise repeats nothing either.
    const bool explained = has_fault() && signs_.dropout < kMuchDropout;
    if (drowned() && !explained) {
      add({.cause = "dropout too high",
           .sign = "correlation of two training passes over one batch",
           .value = signs_.dropout_correlation,
           .threshold = kLowCorrelation,
           .remedy = "less dropout",
           .flag = "--dropout 0.1"});
    }
    if (gap() > kGap && !solved() && signs_.dropout < 0.1 && !has_fault()) {
      add({.cause = "dropout too low",
           .sign = "test loss over training loss, less 1",
           .value = gap(),
           .threshold = kGap,
           .remedy = "dropout, so that examples cannot be learned by heart",
           .flag = "--dropout 0.2",
           .severity = Severity::kWarning});
    }
  }

  void head_count() {
    const std::int64_t features = signs_.d_model / signs_.n_heads;
    if (features >= kFewFeatures) return;
    add({.cause = "too many heads for the width",
         .sign = "features a head",
         .value = static_cast<double>(features),
         .threshold = static_cast<double>(kFewFeatures),
         .remedy = "fewer heads",
         .flag = fmt::format("--n-heads {}", std::max<std::int64_t>(signs_.d_model / 32, 1)),
         .severity = Severity::kWarning});
  }

  void collapsed_heads() {
    if (solved() || !signs_.has_rule) return;
    double lowest = kUnknown;
    for (const HeadReport& head : signs_.heads) {
      lowest = std::fmin(lowest, score_of(head, "entropy_normalised").value);
    }
    if (!(lowest < kCollapsed)) return;
    add({.cause = "collapsed heads",
         .sign = "lowest entropy of a head, the task not solved",
         .value = lowest,
         .threshold = kCollapsed,
         .remedy = "a learned temperature; or a loss that rewards entropy",
         .flag = "--scale learned --entropy-weight 1",
         .severity = Severity::kWarning});
  }

  void sink() {
    double most = kUnknown;
    for (const HeadReport& head : signs_.heads) {
      const Score score = score_of(head, "sink");
      most = std::fmax(most, score.value - score.chance);
    }
    if (!(most > kSink) || has_fault()) return;
    add({.cause = "a token soaks up weight",
         .sign = "mean weight on one key, less what uniform weights give",
         .value = most,
         .threshold = kSink,
         .remedy = "hide that token from the other positions, or read its weight as \"nothing to look for\"",
         .flag = "--hide-token",
         .severity = Severity::kNote});
  }

  const Signs& signs_;
  Diagnosis result_;
};

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kFault:
      return "fault";
  }
  return {};
}

Diagnosis diagnose(const Signs& signs) { return Diagnostician(signs).run(); }

}  // namespace headtorch::probe
