#include "train/ablation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "train/interventions.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kTokensInAll = 1 << 24, kGreedyTokens = 1 << 22;
constexpr std::int64_t kFewest = 32, kMost = 1000, kFewestGreedy = 16;
constexpr std::int64_t kRandomOrders = 3;
constexpr std::uint64_t kRandomStream = 0x616c6261;  // of orders drawn at random, apart from examples

/// How often an ablation passes over its examples, the greedy choice apart.
std::int64_t passes(const models::ModelOptions& model) {
  constexpr std::int64_t kKinds = 4, kLooks = 4;  // of replacement; base and importance
  const std::int64_t places = models::n_attention_places(model), heads = places * model.n_heads;
  return kKinds * (heads + places + 1) + kLooks + (1 + kRandomOrders) * heads;
}

std::int64_t greedy_choices(std::int64_t heads) { return heads * (heads + 1) / 2; }

std::vector<HeadPlace> heads_of(const models::ModelOptions& model) {
  std::vector<HeadPlace> places;
  for (std::int64_t place = 0; place < models::n_attention_places(model); ++place) {
    const auto [stack, layer] = models::attention_place(model, place);
    for (std::int64_t head = 0; head < model.n_heads; ++head) places.push_back({layer, head, stack});
  }
  return places;
}

class Ablation {
 public:
  Ablation(const RunConfig& config, const tasks::Task& task, std::string_view model,
           const AblationOptions& options)
      : config_(config),
        options_(options),
        examples_(options.examples > 0 ? options.examples : ablation_examples(config, task)),
        model_(config, task, model, examples_),
        places_(heads_of(config.model)),
        length_(task.shape().seq_len) {
    examples_ = std::ssize(model_.base().loss);
  }

  probe::AblationReport run(const std::vector<probe::HeadReport>& heads) {
    for (const probe::HeadReport& head : heads) {
      const HeadPlace place{head.layer, head.head, head.stack};
      model_.set_kernel(place, head.kernel.kernel);
      with_kernel_.push_back(place);
    }
    const std::int64_t n = std::ssize(places_);
    const bool is_greedy = n <= probe::kMostGreedyHeads;
    of_ = passes(config_.model) - (is_greedy ? 0 : (1 + kRandomOrders) * n);

    probe::AblationReport report;
    report.base = model_.base();
    const std::vector<double> importance = model_.importance();
    done_ = 4;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      report.heads.push_back({.place = places_[i],
                              .replaced = replace({places_[i]}),
                              .importance = importance[i],
                              .entropy_normalised = model_.entropy_normalised()[i]});
    }
    for (std::int64_t index = 0; index < models::n_attention_places(config_.model); ++index) {
      const auto [stack, layer] = models::attention_place(config_.model, index);
      std::vector<HeadPlace> layers_heads;
      for (const HeadPlace& place : places_) {
        if (place.layer == layer && place.stack == stack) layers_heads.push_back(place);
      }
      report.layers.push_back({layer, replace(layers_heads), stack});
    }
    report.all = replace(places_);
    probe::compare_heads(report);
    if (is_greedy) remove_one_by_one(report);
    return report;
  }

 private:
  probe::ExampleResults measure(Replacement replacement, const std::vector<HeadPlace>& heads) {
    probe::ExampleResults results = model_.measure(replacement, heads, examples_);
    ++done_;
    if (options_.progress) {
      options_.progress(std::min(done_, of_), of_,
                        heads.size() == 1 ? head_name(heads.front()) : fmt::format("{} heads", heads.size()));
    }
    return results;
  }

  probe::Replaced replace(const std::vector<HeadPlace>& heads) {
    const auto lost = [&](Replacement replacement) {
      return probe::change(model_.base(), measure(replacement, heads));
    };
    probe::Replaced replaced;
    replaced.removed = lost(Replacement::kRemoved);
    replaced.mean_replaced = lost(Replacement::kMean);
    replaced.uniform = lost(Replacement::kUniform);
    const auto has_kernel = [&](const HeadPlace& place) {
      return std::find(with_kernel_.begin(), with_kernel_.end(), place) != with_kernel_.end();
    };
    if (std::all_of(heads.begin(), heads.end(), has_kernel))
      replaced.kernel_replaced = lost(Replacement::kKernel);
    return replaced;
  }

  /// The curve of an order of removal: a value for each number of heads gone, from 1.
  std::vector<probe::ExampleResults> curve(const std::vector<HeadPlace>& order) {
    std::vector<probe::ExampleResults> results;
    std::vector<HeadPlace> removed;
    for (const HeadPlace& place : order) {
      removed.push_back(place);
      results.push_back(measure(Replacement::kRemoved, removed));
    }
    return results;
  }

  void remove_one_by_one(probe::AblationReport& report) {
    const std::int64_t n = std::ssize(places_);
    report.greedy_examples = std::clamp(kGreedyTokens / (length_ * greedy_choices(n)),
                                        std::min(kFewestGreedy, examples_), examples_);
    const std::vector<HeadPlace> order =
        probe::greedy_order(places_, [&](const std::vector<HeadPlace>& removed) {
          return model_.measure(Replacement::kRemoved, removed, report.greedy_examples).mean_loss();
        });
    const std::vector<probe::ExampleResults> results = curve(order);
    for (std::size_t i = 0; i < order.size(); ++i) {
      report.greedy.push_back({.removed = order[i],
                               .heads_left = n - static_cast<std::int64_t>(i) - 1,
                               .loss = results[i].mean_loss(),
                               .token_accuracy = results[i].token_accuracy()});
    }
    report.random_orders = kRandomOrders;
    for (std::int64_t k = 0; k < kRandomOrders; ++k) {
      std::vector<std::int64_t> shuffled(order.size());
      for (std::size_t i = 0; i < shuffled.size(); ++i) shuffled[i] = static_cast<std::int64_t>(i);
      Random(static_cast<std::uint64_t>(config_.train.seed), kRandomStream, static_cast<std::uint64_t>(k))
          .shuffle(shuffled);
      std::vector<HeadPlace> random_order;
      for (const std::int64_t i : shuffled) random_order.push_back(places_[static_cast<std::size_t>(i)]);
      const std::vector<probe::ExampleResults> at_random = curve(random_order);
      for (std::size_t i = 0; i < order.size(); ++i)
        report.greedy[i].random_loss += at_random[i].mean_loss() / static_cast<double>(kRandomOrders);
    }
  }

  const RunConfig& config_;
  const AblationOptions& options_;
  std::int64_t examples_;
  Interventions model_;
  std::vector<HeadPlace> places_, with_kernel_;
  std::int64_t length_;
  std::int64_t done_ = 0, of_ = 0;
};

}  // namespace

std::int64_t ablation_examples(const RunConfig& config, const tasks::Task& task) {
  const std::int64_t tokens = passes(config.model) * task.shape().seq_len;
  return std::min(std::clamp(kTokensInAll / tokens, kFewest, kMost), task.size(tasks::Split::kTest));
}

probe::AblationReport ablate(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             const std::vector<probe::HeadReport>& heads, const AblationOptions& options) {
  return Ablation(config, task, model, options).run(heads);
}

probe::ExampleResults measure_examples(const RunConfig& config, const tasks::Task& task,
                                       std::string_view model, std::int64_t examples) {
  return Interventions(config, task, model, examples).base();
}

RunConfig one_head_config(const RunConfig& config) {
  RunConfig one = config;
  one.model.n_heads = 1;
  one.model.head_kernels.clear();
  nn::ScoreOptions& score = one.model.attention;
  for (auto* list : {&score.bandwidth, &score.kernel_slope, &score.kernel_offset}) list->resize(1);
  return one;
}

OneHead train_one_head(const RunConfig& config, const tasks::Task& task, const probe::ExampleResults& base,
                       const RunObserver& observer) {
  const RunConfig one = one_head_config(config);
  std::string model;
  RunObserver listening = observer;
  listening.on_checkpoint = [&](std::int64_t step, const std::map<std::string, std::string>& files) {
    model = files.at("model.safetensors");
    if (observer.on_checkpoint) observer.on_checkpoint(step, files);
  };
  OneHead trained;
  trained.result = run_training(one, task, listening);
  const auto stop = [](ExitCode code, std::string_view what) { throw Error(code, "one head", what); };
  if (trained.result.ending == Ending::kDiverged)
    stop(ExitCode::kCheckFailed, "the training diverged, expected finite losses");
  if (trained.result.ending == Ending::kInterrupted)
    stop(ExitCode::kInterrupted, "the training was interrupted, expected to be left to finish");
  if (trained.result.ending == Ending::kTerminated)
    stop(ExitCode::kTerminated, "the training was terminated, expected to be left to finish");
  trained.examples = measure_examples(one, task, model, std::ssize(base.loss));
  trained.change = probe::change(base, trained.examples);
  return trained;
}

}  // namespace headtorch::train
