#include "src/cli/tour_steps.hpp"

#include <fmt/format.h>

#include <optional>

#include "src/cli/demo_figures.hpp"
#include "src/cli/demo_numbers.hpp"
#include "src/cli/tour_projections.hpp"
#include "src/report/figures.hpp"
#include "src/report/panels.hpp"
#include "src/report/text.hpp"
#include "train/comparison.hpp"
#include "train/run.hpp"

namespace headtorch::cli {
namespace {

using report::readable;

constexpr std::int64_t kTokens = 10, kSteps = 250, kEvalEvery = 25;
constexpr std::int64_t kVerdictSteps = 150, kVerdictScreen = 30, kVerdictSeeds = 2;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

/// Reversing with the smallest model that can.
train::RunConfig tiny_config(std::int64_t n_heads, nn::Position position) {
  train::RunConfig config = train::default_config("reverse");
  config.task.seq_len = kTokens;
  config.model.n_layers = 1;
  config.model.n_heads = n_heads;
  config.model.d_model = 64;
  config.model.d_ff = 128;
  config.model.dropout = 0;
  config.model.position = position;
  config.train.steps = kSteps;
  config.train.batch = 32;
  config.train.eval_every = kEvalEvery;
  return config;
}

struct Trained {
  std::vector<double> steps, accuracy;  ///< of tokens, on validation data
  AttentionMaps maps;
  double test_accuracy = 0;
};

Trained trained(const train::RunConfig& config) {
  train::check(config);
  const auto task = train::make_task(config);
  Trained result;
  train::RunObserver observer;
  observer.on_evaluation = [&](std::int64_t step, const train::Evaluation& evaluation, double) {
    result.steps.push_back(static_cast<double>(step));
    result.accuracy.push_back(evaluation.token_accuracy);
  };
  observer.on_attention = [&](const AttentionMaps& maps) { result.maps = maps; };
  result.test_accuracy = train::run_training(config, *task, observer).test.token_accuracy;
  return result;
}

report::Series accuracy_series(const Trained& training, std::string label, std::size_t colour) {
  return {.label = std::move(label),
          .x = training.steps,
          .y = training.accuracy,
          .colour = report::series_colour(colour),
          .has_points = true};
}

report::Plot accuracy_plot(std::vector<report::Series> series) {
  return {.title = "share of tokens right",
          .x_title = "training step",
          .y_title = "token accuracy",
          .series = std::move(series),
          .y_range = report::AxisRange{0, 1.03}};
}

report::Matrix head_matrix(const AttentionMaps& maps, std::int64_t head, std::string title) {
  const LayerWeights& layer = maps.layers.front();
  const auto weights = layer.head(0, head);
  const std::vector<std::string>& tokens = maps.tokens.front();
  return {.title = std::move(title),
          .x_title = "key",
          .y_title = "query",
          .bar_title = "weight",
          .rows = layer.queries,
          .columns = layer.keys,
          .values = {weights.begin(), weights.end()},
          .row_names = tokens,
          .column_names = tokens,
          .range = report::AxisRange{0, 1}};
}

TourResult show_verdict() {
  train::RunConfig config = tiny_config(2, nn::Position::kLearned);
  config.train.steps = kVerdictSteps;
  config.train.eval_every = 0;
  train::ComparisonOptions options;
  options.n_seeds = kVerdictSeeds;
  options.screen_steps = kVerdictScreen;
  options.bandwidths = {1};
  train::Comparison comparison =
      train::compare(config, options, [](std::int64_t, std::int64_t, const std::string&) {});
  std::string verdict = comparison.verdict.verdict;
  return {{std::to_string(kVerdictSeeds), verdict},
          [comparison = std::move(comparison)](report::Format format) {
            return report::draw_comparison(comparison.rows, comparison.metric,
                                           {.title = "reverse: fixed kernels and learned heads",
                                            .verdict = comparison.verdict.verdict,
                                            .format = format});
          }};
}

TourResult panels_result(std::vector<std::string> numbers, report::Panels page) {
  return {std::move(numbers),
          [page = std::move(page)](report::Format format) { return report::draw_panels(page, format); }};
}

}  // namespace

struct TourSteps::Found {
  std::optional<DemoNumbers> sine;
  std::optional<Trained> one_head;

  const DemoNumbers& numbers() {
    if (!sine) sine = demo_numbers();
    return *sine;
  }
  const Trained& head() {
    if (!one_head) one_head = trained(tiny_config(1, nn::Position::kLearned));
    return *one_head;
  }
};

TourSteps::TourSteps() : found_(std::make_unique<Found>()) {}
TourSteps::~TourSteps() = default;

TourResult TourSteps::run(TourStep step) {
  switch (step) {
    case TourStep::kBandwidths: {
      std::vector<std::string> used;
      for (const DemoFit& fit : found_->numbers().fits)
        used.push_back(readable(fit.sharpness.effective_n, 2));
      return panels_result(std::move(used), three_bandwidths_figure(found_->numbers()));
    }
    case TourStep::kDotProduct: {
      const DemoNumbers& numbers = found_->numbers();
      return panels_result(
          {readable(numbers.raw.sine_rmse, 2), fmt::format("{:.0e}", numbers.identity_difference)},
          dot_product_figure(numbers));
    }
    case TourStep::kProjections: {
      Projections projections = learn_projections(found_->numbers());
      return panels_result(std::move(projections.numbers), std::move(projections.picture));
    }
    case TourStep::kHead: {
      const Trained& one = found_->head();
      return panels_result({percent(one.test_accuracy)},
                           {.title = "One head learns to reverse a sequence",
                            .rows = {{accuracy_plot({accuracy_series(one, "one head", 0)}),
                                      head_matrix(one.maps, 0, "its weights on one sequence")}}});
    }
    case TourStep::kHeads: {
      constexpr std::int64_t kHeads = 4;
      const Trained& one = found_->head();
      const Trained four = trained(tiny_config(kHeads, nn::Position::kLearned));
      report::Panels page{.title = "Four heads beside one", .rows = {{}, {}}};
      page.rows[0].emplace_back(
          accuracy_plot({accuracy_series(one, "one head", 0), accuracy_series(four, "four heads", 1)}));
      page.rows[0].emplace_back(head_matrix(one.maps, 0, "the one head"));
      for (std::int64_t head = 0; head < kHeads; ++head)
        page.rows[1].emplace_back(head_matrix(four.maps, head, fmt::format("head {} of four", head)));
      return panels_result({percent(four.test_accuracy), percent(one.test_accuracy)}, std::move(page));
    }
    case TourStep::kPositions: {
      const Trained& with = found_->head();
      const Trained without = trained(tiny_config(1, nn::Position::kNone));
      return panels_result({percent(without.test_accuracy), percent(with.test_accuracy)},
                           {.title = "With and without positions",
                            .rows = {{accuracy_plot({accuracy_series(with, "with positions", 0),
                                                     accuracy_series(without, "without", 1)}),
                                      head_matrix(without.maps, 0, "weights without positions")}}});
    }
    case TourStep::kVerdict:
      return show_verdict();
  }
  return {};
}

}  // namespace headtorch::cli
