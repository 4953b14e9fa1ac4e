#include "src/probe/head_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "src/core/error.hpp"
#include "src/probe/head_scores.hpp"
#include "src/probe/kernel_statistics.hpp"
#include "src/probe/labels.hpp"
#include "src/probe/nearest_kernel.hpp"
#include "src/probe/parallel.hpp"
#include "src/probe/similarity.hpp"

namespace headtorch::probe {
namespace {

/// What is added up of one head.
struct Head {
  std::size_t layer = 0;  // of the maps
  std::int64_t index = 0;
  HeadScores scores;
  KernelStatistics fit, judge;
  std::vector<double> mean{};                    // of the inputs fitted, once there are any to judge
  std::vector<std::vector<double>> entropies{};  // of the call in hand: [samples][query]
};

enum class Half { kFit, kJudge };

std::vector<double> weights_of(const std::vector<std::vector<double>>& importance, std::size_t layer,
                               std::int64_t head, const LayerShape& shape) {
  if (importance.empty()) return {};
  const std::vector<double>& all = importance[layer];
  if (!std::cmp_equal(all.size(), shape.heads * shape.queries)) {
    throw ShapeError("heads", fmt::format("{} row importances in {}, expected {} x {}", all.size(),
                                          layer_title(shape.stack, shape.layer), shape.heads, shape.queries));
  }
  std::vector<double> own(all.begin() + head * shape.queries, all.begin() + (head + 1) * shape.queries);
  for (const double weight : own) {
    if (!(weight >= 0.0 && std::isfinite(weight))) {
      throw ConfigError("heads", fmt::format("{}, head {}: a row importance is {}, expected >= 0",
                                             layer_title(shape.stack, shape.layer), head, weight));
    }
  }
  return own;
}

/// For means of rows: without any importance every row counts alike.
std::vector<double> or_alike(std::vector<double> weights) {
  const bool none = std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0.0; });
  if (none) weights.assign(weights.size(), 1.0);
  return weights;
}

}  // namespace

struct HeadReader::State {
  HeadReaderOptions options;
  std::vector<LayerShape> shapes;
  bool causal = false, judged = false;
  std::int64_t window = -1;
  std::vector<Head> heads;       // by layer and head
  std::vector<HeadPairs> pairs;  // by layer

  void start(const AttentionMaps& maps);
  std::vector<std::vector<RecordedInput>> checked(const AttentionMaps& maps,
                                                  const std::vector<LayerShape>& with) const;
  void add(const AttentionMaps& maps, Half half);
};

void HeadReader::State::start(const AttentionMaps& maps) {
  const std::vector<LayerShape> given = checked_shapes(maps);
  if (!shapes.empty()) {
    if (given != shapes || causal != maps.causal || window != maps.window) {
      throw ShapeError("heads", "layers, heads, sizes or masks are not those of the inputs before");
    }
    return;
  }
  const auto& importance = options.row_importance;
  if (!importance.empty() && importance.size() != given.size()) {
    throw ShapeError(
        "heads", fmt::format("row importances of {} layers, expected {}", importance.size(), given.size()));
  }
  std::vector<Head> started;
  for (std::size_t layer = 0; layer < given.size(); ++layer) {
    for (std::int64_t head = 0; head < given[layer].heads; ++head) {
      const std::vector<double> weights = weights_of(importance, layer, head, given[layer]);
      started.push_back({.layer = layer,
                         .index = head,
                         .scores = HeadScores(given[layer], or_alike(weights)),
                         .fit = KernelStatistics(given[layer], weights),
                         .judge = KernelStatistics(given[layer], weights)});
    }
  }
  heads = std::move(started);
  for (const LayerShape& shape : given) pairs.emplace_back(shape.heads);
  shapes = given;
  causal = maps.causal;
  window = maps.window;
}

std::vector<std::vector<RecordedInput>> HeadReader::State::checked(
    const AttentionMaps& maps, const std::vector<LayerShape>& with) const {
  std::vector<std::vector<RecordedInput>> inputs;
  for (const LayerShape& shape : with) inputs.push_back(recorded_inputs(maps, shape));
  for_each_index(heads.size(), [&](std::size_t i) {
    check_weights(maps, heads[i].layer, heads[i].index, inputs[heads[i].layer]);
  });
  return inputs;
}

void HeadReader::State::add(const AttentionMaps& maps, Half half) {
  start(maps);
  const std::vector<std::vector<RecordedInput>> inputs = checked(maps, shapes);
  for_each_index(heads.size(), [&](std::size_t i) {
    Head& head = heads[i];
    const LayerWeights& layer = maps.layers[head.layer];
    KernelStatistics& statistics = half == Half::kFit ? head.fit : head.judge;
    if (half == Half::kJudge && head.mean.empty()) head.mean = head.fit.mean_weights();
    head.entropies.resize(inputs[head.layer].size());
    for (std::size_t sample = 0; sample < inputs[head.layer].size(); ++sample) {
      const RecordedInput& input = inputs[head.layer][sample];
      const std::span<const float> weights = layer.head(static_cast<std::int64_t>(sample), head.index);
      head.scores.add(input, weights, head.entropies[sample]);
      statistics.add(input, weights, head.entropies[sample]);
      if (half == Half::kJudge) head.scores.add_variability(input, weights, head.mean);
    }
  });

  std::vector<std::pair<std::size_t, std::size_t>> layer_pairs;  // (layer, pair)
  for (std::size_t layer = 0; layer < pairs.size(); ++layer) {
    for (std::size_t pair = 0; pair < pairs[layer].size(); ++pair) layer_pairs.emplace_back(layer, pair);
  }
  for_each_index(layer_pairs.size(), [&](std::size_t i) {
    const auto& [layer, pair] = layer_pairs[i];
    const auto& [a, b] = pairs[layer].heads(pair);
    const std::size_t first = static_cast<std::size_t>(
        std::find_if(heads.begin(), heads.end(), [&](const Head& head) { return head.layer == layer; }) -
        heads.begin());
    for (std::size_t sample = 0; sample < inputs[layer].size(); ++sample) {
      const auto rows = [&](std::int64_t head) {
        return HeadPairs::Rows{maps.layers[layer].head(static_cast<std::int64_t>(sample), head),
                               heads[first + static_cast<std::size_t>(head)].entropies[sample]};
      };
      pairs[layer].add(pair, inputs[layer][sample], shapes[layer].keys, rows(a), rows(b));
    }
  });
}

HeadReader::HeadReader(HeadReaderOptions options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}
HeadReader::~HeadReader() = default;

void HeadReader::fit(const AttentionMaps& maps) {
  if (state_->judged) throw ShapeError("heads", "inputs to fit after inputs to judge, expected all before");
  state_->add(maps, Half::kFit);
}

void HeadReader::judge(const AttentionMaps& maps) {
  state_->add(maps, Half::kJudge);
  state_->judged = true;
}

void HeadReader::repeated(const AttentionMaps& maps) {
  if (state_->shapes.empty()) throw ShapeError("heads", "repeated tokens before any inputs to fit");
  const std::vector<LayerShape> given = checked_shapes(maps);
  const bool fits =
      std::equal(given.begin(), given.end(), state_->shapes.begin(), state_->shapes.end(),
                 [](const LayerShape& a, const LayerShape& b) {
                   return a.heads == b.heads && a.stack == b.stack && a.is_self() == b.is_self();
                 });
  if (!fits) throw ShapeError("heads", "layers or heads are not those of the inputs before");
  const std::vector<std::vector<RecordedInput>> inputs = state_->checked(maps, given);
  for_each_index(state_->heads.size(), [&](std::size_t i) {
    Head& head = state_->heads[i];
    for (std::size_t sample = 0; sample < inputs[head.layer].size(); ++sample) {
      head.scores.add_repeated(inputs[head.layer][sample],
                               maps.layers[head.layer].head(static_cast<std::int64_t>(sample), head.index),
                               given[head.layer].keys);
    }
  });
}

std::vector<HeadReport> HeadReader::reports() const {
  if (state_->shapes.empty()) throw ShapeError("heads", "no inputs, expected at least one to fit");
  std::vector<HeadReport> reports(state_->heads.size());
  for_each_index(reports.size(), [&](std::size_t i) {
    const Head& head = state_->heads[i];
    const LayerShape& shape = state_->shapes[head.layer];
    const HeadPairs::Nearest like = state_->pairs[head.layer].nearest(head.index);
    HeadReport& report = reports[i];
    report.layer = shape.layer;
    report.head = head.index;
    report.stack = shape.stack;
    report.queries = shape.queries;
    report.keys = shape.keys;
    report.scores = head.scores.scores(like.divergence);
    report.sink_key = head.scores.sink_key();
    if (like.head >= 0) report.like_head = like.head;
    report.kernel = nearest_kernel(shape, head.fit, head.judge);
    if (state_->options.kernel_by_row) add_row_kernels(shape, head.fit, head.judge, report.kernel);
    report.labels = labels_of(report);
  });
  return reports;
}

}  // namespace headtorch::probe
