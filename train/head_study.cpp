#include "train/head_study.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/probe/head_reader.hpp"
#include "src/tasks/batch.hpp"
#include "src/tasks/repeated_tokens.hpp"
#include "train/checkpoint.hpp"
#include "train/circuits.hpp"
#include "train/evaluate.hpp"
#include "train/interventions.hpp"
#include "train/record.hpp"
#include "train/row_importance.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kWeightsAtOnce = 1 << 22;  // of a layer, in memory
constexpr std::int64_t kWeightsInAll = 1 << 30;   // of all layers and inputs: bounds the time
constexpr std::int64_t kFewestExamples = 32;      // fewer fit a kernel to chance
constexpr std::int64_t kRepeatedRows = 64;

/// One model on the inputs of one task.
class Study {
 public:
  Study(const RunConfig& config, const tasks::Task& task, std::string_view bytes, std::int64_t step)
      : config_(config), task_(task), bytes_(bytes), step_(step), model_(load(config)) {}

  HeadStudy run(const HeadStudyOptions& options) {
    HeadStudy study;
    study.step = step_;
    // Where rows are attended to, test examples are longer: the first half of the others fits, the rest
    // judges.
    const bool rows = task_.shape().asked_token >= 0;
    const std::int64_t n_validation = task_.size(tasks::Split::kValidation);
    const std::int64_t n_fit = rows ? std::max<std::int64_t>(n_validation / 2, 1) : n_validation;
    study.n_fit = std::min(affordable(options.n_fit), n_fit);
    const tasks::Split judge = rows ? tasks::Split::kValidation : tasks::Split::kTest;
    const std::int64_t first = rows ? std::min(study.n_fit, n_validation - 1) : 0;
    study.n_judge = std::min(affordable(options.n_judge), task_.size(judge) - first);
    probe::HeadReader reader(
        {.row_importance = row_importance(model_, task_, tasks::Split::kValidation, 0, study.n_fit),
         .kernel_by_row = options.kernel_by_row});
    feed(task_.batch(tasks::Split::kValidation, 0, study.n_fit),
         [&](const AttentionMaps& maps) { reader.fit(maps); });
    feed(task_.batch(judge, first, study.n_judge), [&](const AttentionMaps& maps) { reader.judge(maps); });
    if (task_.shape().n_features == 0 && task_.shape().source.seq_len == 0) {
      const auto repeated = tasks::repeated_tokens(task_.shape(), affordable(kRepeatedRows),
                                                   static_cast<std::uint64_t>(config_.train.seed));
      if (!repeated.empty())
        feed(tasks::unlabelled(repeated), [&](const AttentionMaps& maps) { reader.repeated(maps); });
    }
    study.heads = reader.reports();
    study.circuits = read_circuits(config_, task_, bytes_);
    for (std::size_t i = 0; i < study.heads.size(); ++i) {
      study.heads[i].scores.push_back({"copying", from_weights(study.circuits.copying[i])});
    }
    const std::int64_t n = std::min(options.n_evaluated, task_.size(tasks::Split::kTest));
    if (options.removal) add_removal(study, n);

    Replicas replicas(1);
    study.base = evaluate(model_, task_, tasks::Split::kTest, n, replicas, torch::kCPU);
    study.replaced = evaluate(load(with_nearest_kernels(config_, study.heads)), task_, tasks::Split::kTest, n,
                              replicas, torch::kCPU);
    return study;
  }

 private:
  /// A number that no input has a part in.
  static probe::Score from_weights(double value) {
    probe::Score score;
    score.value = value;
    return score;
  }

  void add_removal(HeadStudy& study, std::int64_t n) const {
    const Interventions interventions(config_, task_, bytes_, n);
    const std::vector<double> importance = interventions.importance();
    for (std::size_t i = 0; i < study.heads.size(); ++i) {
      probe::HeadReport& head = study.heads[i];
      probe::Score share = from_weights(importance[i]);
      share.rows = static_cast<std::int64_t>(interventions.base().loss.size());
      share.chance = 1.0 / std::sqrt(static_cast<double>(config_.model.n_heads));
      head.scores.push_back({"importance", share});
      const auto without =
          interventions.measure(Replacement::kRemoved, {{head.layer, head.head, head.stack}}, share.rows);
      head.scores.push_back({"ablation", probe::change(interventions.base(), without).loss});
    }
  }

  models::MiniTransformer load(const RunConfig& config) const {
    models::MiniTransformer model = load_model(config, task_, bytes_);
    check_finite(*model, "model.safetensors");
    return model;
  }

  std::int64_t weights_an_input() const {
    const std::int64_t length = task_.shape().longest();
    return config_.model.n_heads * length * length;
  }

  /// `asked`, or as many as the time allows.
  std::int64_t affordable(std::int64_t asked) const {
    const std::int64_t most =
        kWeightsInAll / (2 * models::n_attention_places(config_.model) * weights_an_input());
    return std::min(asked, std::max(most, kFewestExamples));
  }

  template <typename Take>
  void feed(const tasks::Batch& inputs, const Take& take) const {
    const std::int64_t at_once = std::max<std::int64_t>(kWeightsAtOnce / weights_an_input(), 1);
    for (std::int64_t first = 0; first < inputs.examples; first += at_once) {
      const std::int64_t count = std::min(at_once, inputs.examples - first);
      take(record(model_, task_, tasks::slice(inputs, first, count), step_, torch::kCPU));
    }
  }

  const RunConfig& config_;
  const tasks::Task& task_;
  std::string_view bytes_;
  std::int64_t step_;
  models::MiniTransformer model_;
};

}  // namespace

HeadStudy study_heads(const RunConfig& config, const tasks::Task& task, std::string_view model,
                      std::int64_t step, const HeadStudyOptions& options) {
  return Study(config, task, model, step).run(options);
}

RunConfig with_nearest_kernels(const RunConfig& config, const std::vector<probe::HeadReport>& heads) {
  RunConfig replaced = config;
  replaced.model.head_kernels.clear();
  for (const probe::HeadReport& head : heads) {
    replaced.model.head_kernels.push_back({head.layer, head.head, head.kernel.kernel, head.stack});
  }
  return replaced;
}

}  // namespace headtorch::train
