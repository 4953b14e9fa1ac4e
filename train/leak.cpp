#include "train/leak.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/leak_probe.hpp"
#include "train/record.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kExamples = 2;
constexpr std::int64_t kFewCuts = 3, kManyCuts = 6;

/// What a forward pass shows of itself: names, and tensors whose dimension `rows` is the query's position.
struct Shown {
  std::string place;
  torch::Tensor value;
  std::int64_t rows = 1;
};

struct Pass {
  torch::Tensor input_BTD;  // a leaf
  std::vector<Shown> shown;
  std::vector<std::int64_t> places;         // of attention, whose queries are the positions judged
  std::vector<torch::Tensor> weights_BHTS;  // theirs
};

/// "layer 1", of an encoder-decoder "cross layer 1".
std::string layer_name(const models::ModelOptions& options, std::int64_t place) {
  const models::AttentionPlace at = models::attention_place(options, place);
  return at.stack == Stack::kSelf ? fmt::format("layer {}", at.layer)
                                  : fmt::format("{} layer {}", stack_name(at.stack), at.layer);
}

bool is_judged(const models::ModelOptions& options, std::int64_t place) {
  return models::attention_place(options, place).stack != Stack::kEncoder;
}

Pass look(models::MiniTransformer& model, const models::ModelInput& input,
          const nn::LayerEdit& edit_pattern) {
  const models::ModelOptions& options = model->options();
  const bool pair = options.family == models::Family::kEncoderDecoder;
  Pass pass;
  nn::HeadProbe probe;
  probe.edit_pattern = edit_pattern;
  probe.edit_heads = [&](std::int64_t place, const torch::Tensor& heads_BHTE) {
    if (is_judged(options, place))
      pass.shown.push_back({layer_name(options, place) + " heads", heads_BHTE, 2});
    return heads_BHTE;
  };
  probe.edit_stream = [&](std::int64_t place, const torch::Tensor& stream_BTD) {
    if (place == (pair ? models::MiniTransformerImpl::kDecoderInput : -1))
      return pass.input_BTD = stream_BTD.detach().requires_grad_();
    if (place >= 0 && is_judged(options, place))
      pass.shown.push_back({layer_name(options, place) + " output", stream_BTD, 1});
    return stream_BTD;
  };
  nn::DropoutStream same_each_time(/*seed=*/1, /*step=*/1);
  nn::Context context;
  context.dropout = &same_each_time;
  context.probe = &probe;
  pass.shown.push_back({"logits", model->forward(input, context), 1});
  for (std::int64_t place = 0; place < std::ssize(probe.patterns); ++place) {
    if (!is_judged(options, place)) continue;
    pass.places.push_back(place);
    pass.weights_BHTS.push_back(probe.patterns[static_cast<std::size_t>(place)]);
    pass.shown.push_back({layer_name(options, place) + " weights", pass.weights_BHTS.back(), 2});
  }
  return pass;
}

/// Largest absolute value and the row it stands in.  @param difference  rows first, all else behind.
std::pair<double, std::int64_t> largest_row(const torch::Tensor& difference) {
  const torch::Tensor by_row = difference.abs().flatten(1).amax(1).to(torch::kDouble);
  const auto [value, row] = by_row.max(0);
  return {value.item<double>(), row.item<std::int64_t>()};
}

/// |a - b|; 0 where they are the same bits' value, infinity where only one is finite.
torch::Tensor distance(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor difference = (a - b).abs();
  const torch::Tensor unequal = torch::full_like(difference, std::numeric_limits<double>::infinity());
  return torch::where((a == b) | (a.isnan() & b.isnan()), torch::zeros_like(difference),
                      torch::where(difference.isfinite(), difference, unequal));
}

class Prober {
 public:
  Prober(models::MiniTransformer model, models::ModelInput input, std::int64_t n_symbols, nn::LayerEdit edit)
      : model_(std::move(model)), input_(std::move(input)), n_symbols_(n_symbols), edit_(std::move(edit)) {}

  void probe(const std::string& mode, LeakDepth depth, LeakReport& report) {
    model_->train(mode == "training");
    const Pass pass = look(model_, input_, edit_);
    for (const Shown& shown : pass.shown) {
      report.finite = report.finite && shown.value.isfinite().all().item<bool>();
    }
    if (!report.finite) return;
    if (mode == "evaluation") mass_on_hidden_keys(pass, report);
    for (const Shown& shown : pass.shown) {
      swaps_.push_back({shown.place, mode, "suffix swap"});
      if (shown.value.requires_grad()) gradients_.push_back({shown.place, mode, "gradient"});
    }
    for (const std::int64_t cut : cuts(depth == LeakDepth::kQuick ? kFewCuts : kManyCuts)) {
      swap_suffix(pass, cut);
      if (depth == LeakDepth::kThorough) follow_gradients(pass, cut);
    }
    for (auto* list : {&swaps_, &gradients_}) {
      if (list == &swaps_ || depth == LeakDepth::kThorough)
        report.checks.insert(report.checks.end(), list->begin(), list->end());
      list->clear();
    }
  }

 private:
  static void keep_larger(LeakCheck& check, double value, std::int64_t query, std::int64_t key) {
    if (value > check.largest) check = {check.place, check.mode, check.form, value, query, key};
  }

  /// Positions 1 .. T-1, evenly spread, the first and the last among them.
  std::vector<std::int64_t> cuts(std::int64_t most) const {
    const std::int64_t last = input_.target.tokens.size(1) - 1;
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; last >= 1 && i < most; ++i) {
      const std::int64_t cut = 1 + i * (last - 1) / (most - 1);
      if (list.empty() || list.back() != cut) list.push_back(cut);
    }
    return list;
  }

  void mass_on_hidden_keys(const Pass& pass, LeakReport& report) const {
    models::MiniTransformer model = model_;
    for (std::size_t i = 0; i < pass.places.size(); ++i) {
      const models::ModelOptions& options = model->options();
      const torch::Tensor weights_BHTS = pass.weights_BHTS[i].detach();
      const std::string place = layer_name(options, pass.places[i]) + " weights";
      const bool crosses = models::attention_place(options, pass.places[i]).stack == Stack::kCross;
      const auto add = [&](const char* form, const torch::Tensor& mass_TS) {
        LeakCheck check{place, "evaluation", form};
        const auto [value, row] = largest_row(mass_TS);
        keep_larger(check, value, row, mass_TS[row].argmax().item<std::int64_t>());
        report.checks.push_back(check);
      };
      if (!crosses) add("mass above the diagonal", weights_BHTS.triu(1).abs().amax({0, 1}));
      const torch::Tensor visible = model->visible(input_, pass.places[i]).expand(weights_BHTS.sizes());
      add("mass on hidden keys", weights_BHTS.masked_fill(visible, 0.0).abs().amax({0, 1}));
    }
  }

  /// The input, its target's positions from `cut` on replaced: tokens each by another one where there is one,
  /// numbers by others.
  models::ModelInput swapped(std::int64_t cut) const {
    const torch::Tensor& tokens_BT = input_.target.tokens;
    const torch::Tensor position_T = torch::arange(tokens_BT.size(1), torch::kLong);
    const torch::Tensor shift_T = 1 + position_T * 7 % std::max<std::int64_t>(n_symbols_ - 1, 1);
    models::ModelInput other = input_;
    other.target.tokens = torch::where(position_T >= cut, (tokens_BT + shift_T) % n_symbols_, tokens_BT);
    if (input_.target.features.defined()) {
      other.target.features =
          input_.target.features + (position_T >= cut).to(torch::kFloat32).view({1, -1, 1});
    }
    return other;
  }

  void swap_suffix(const Pass& pass, std::int64_t cut) {
    const torch::NoGradGuard no_grad;
    const Pass other = look(model_, swapped(cut), edit_);
    for (std::size_t i = 0; i < pass.shown.size(); ++i) {
      const std::int64_t rows = pass.shown[i].rows;
      const torch::Tensor difference = distance(pass.shown[i].value.narrow(rows, 0, cut).transpose(0, rows),
                                                other.shown[i].value.narrow(rows, 0, cut).transpose(0, rows));
      const auto [value, row] = largest_row(difference);
      keep_larger(swaps_[i], value, row, cut);
    }
  }

  void follow_gradients(const Pass& pass, std::int64_t cut) {
    std::size_t at = 0;
    for (const Shown& shown : pass.shown) {
      if (!shown.value.requires_grad()) continue;
      LeakCheck& check = gradients_[at++];
      const torch::Tensor row = shown.value.select(shown.rows, cut - 1);
      // Weights without a pattern of their own, so that derivatives do not cancel by chance.
      const torch::Tensor weights =
          torch::arange(1, row.numel() + 1, row.options().requires_grad(false)).sin();
      const torch::Tensor gradient_BTD =
          torch::autograd::grad({(row * weights.view(row.sizes())).sum()}, {pass.input_BTD}, {},
                                /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/true)[0];
      if (!gradient_BTD.defined()) continue;
      const std::int64_t after = gradient_BTD.size(1) - cut;
      const torch::Tensor future = gradient_BTD.narrow(1, cut, after).transpose(0, 1);
      const auto [value, offset] = largest_row(future.nan_to_num(std::numeric_limits<double>::infinity()));
      keep_larger(check, value, cut - 1, cut + offset);
    }
  }

  models::MiniTransformer model_;
  models::ModelInput input_;
  std::int64_t n_symbols_;
  nn::LayerEdit edit_;
  std::vector<LeakCheck> swaps_, gradients_;
};

}  // namespace

bool LeakReport::leaks() const {
  return std::any_of(checks.begin(), checks.end(),
                     [](const LeakCheck& check) { return check.largest > 0.0; });
}

const LeakCheck* LeakReport::worst() const {
  const auto found =
      std::max_element(checks.begin(), checks.end(),
                       [](const LeakCheck& a, const LeakCheck& b) { return a.largest < b.largest; });
  return found == checks.end() ? nullptr : &*found;
}

LeakReport probe_leaks(models::MiniTransformer model, const models::ModelInput& input, std::int64_t n_symbols,
                       LeakDepth depth, const nn::LayerEdit& edit_pattern) {
  LeakReport report;
  report.may_look_ahead = model->options().family == models::Family::kEncoder;
  if (report.may_look_ahead) return report;
  const bool was_training = model->is_training();
  Prober prober(model, input, n_symbols, edit_pattern);
  prober.probe("evaluation", depth, report);
  if (depth == LeakDepth::kThorough) prober.probe("training", depth, report);
  model->train(was_training);
  return report;
}

LeakReport find_leaks(const RunConfig& config, const tasks::Task& task, std::string_view model,
                      LeakDepth depth) {
  models::MiniTransformer trained = load_model(config, task, model);
  const std::int64_t examples = std::min(kExamples, task.size(tasks::Split::kValidation));
  const BatchTensors batch = to_tensors(task.batch(tasks::Split::kValidation, 0, examples), torch::kCPU);
  return probe_leaks(trained, batch.input, task.shape().n_symbols, depth);
}

}  // namespace headtorch::train
