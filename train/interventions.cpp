#include "train/interventions.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/attention/fixed_kernels.hpp"
#include "src/core/error.hpp"
#include "src/core/interrupt.hpp"
#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/record.hpp"
#include "train/replicas.hpp"

namespace headtorch::train {
namespace {

using probe::ExampleResults;

constexpr std::int64_t kTokensAtOnce = 8192, kWeightsAtOnce = 1 << 22;  // the latter of one layer

void stop_at_signal() {
  const int signal = interrupt_signal();
  if (signal == 0) return;
  throw Error(exit_code_of(signal), "ablate",
              "stopped by a signal before the end, expected to be left to finish");
}

ExampleResults empty_results(std::int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  return {std::vector<double>(size), std::vector<std::int64_t>(size), std::vector<std::int64_t>(size)};
}

template <typename T>
void copy_to(std::vector<T>& values, std::int64_t first, const torch::Tensor& part) {
  const torch::Tensor flat = part.to(c10::CppTypeToScalarType<T>::value).contiguous();
  std::copy_n(flat.data_ptr<T>(), flat.numel(), values.begin() + first);
}

/// Sum over examples and rows with at least 2 visible keys of H / ln(visible keys), a value a head, and the
/// number of those rows.
std::pair<torch::Tensor, double> entropy_sums(const torch::Tensor& pattern_BHTS,
                                              const torch::Tensor& visible) {
  const torch::Tensor a = pattern_BHTS.to(torch::kDouble);
  const torch::Tensor entropy_BHT = -torch::xlogy(a, a).sum(-1);
  const torch::Tensor keys_BHT = visible.expand(pattern_BHTS.sizes()).sum(-1).to(torch::kDouble);
  const torch::Tensor counts_BHT = keys_BHT >= 2.0;
  return {(entropy_BHT / keys_BHT.log()).masked_fill(~counts_BHT, 0.0).sum(torch::IntArrayRef({0, 2})),
          counts_BHT.select(1, 0).sum().item<double>()};
}

}  // namespace

struct Interventions::State {
  State(const RunConfig& config, const tasks::Task& of, std::string_view bytes, std::int64_t examples)
      : task(of),
        n(std::min(examples, of.size(tasks::Split::kTest))),
        model(load_model(config, of, bytes)),
        replicas(std::min<std::int64_t>(usable_cores(), 8)) {
    check_finite(*model, "model.safetensors");
    model->eval();
    for (const torch::Tensor& parameter : model->parameters()) parameter.set_requires_grad(false);
    look();
  }

  std::int64_t n_places() const { return models::n_attention_places(model->options()); }
  std::int64_t n_heads() const { return model->options().n_heads; }

  void check(const HeadPlace& place) const {
    const auto at = [&](std::int64_t index, std::int64_t head) {
      const models::AttentionPlace of = models::attention_place(model->options(), index);
      return HeadPlace{of.layer, head, of.stack};
    };
    for (std::int64_t index = 0; index < n_places(); ++index) {
      if (place == at(index, place.head) && place.head >= 0 && place.head < n_heads()) return;
    }
    throw ConfigError("ablate",
                      fmt::format("{} is not in the model, expected {} to {}", head_name(place),
                                  head_name(at(0, 0)), head_name(at(n_places() - 1, n_heads() - 1))));
  }

  std::int64_t index_of(const HeadPlace& place) const {
    return models::place_index(model->options(), place.stack, place.layer);
  }

  /// Calls work(share, first, count) for chunks of the first `examples`; a share's chunks come in order.
  template <typename Work>
  void in_chunks(std::int64_t examples, const Work& work) const {
    const std::int64_t length = task.shape().longest();
    const std::int64_t at_once = std::max<std::int64_t>(
        std::min(kTokensAtOnce / length, kWeightsAtOnce / (n_heads() * length * length)), 1);
    const std::int64_t chunks = (examples + at_once - 1) / at_once;
    replicas.run([&](std::int64_t share) {
      for (std::int64_t chunk = share; chunk < chunks; chunk += replicas.size()) {
        stop_at_signal();
        const std::int64_t first = chunk * at_once;
        work(share, first, std::min(at_once, examples - first));
      }
    });
  }

  void fill(ExampleResults& results, std::int64_t first, const torch::Tensor& logits_BTC,
            const BatchTensors& batch) const {
    const torch::Tensor& labels_BT = batch.labels_BT;
    const torch::Tensor counted_BT = labels_BT != tasks::kNotCounted;
    copy_to(results.loss, first, position_losses(logits_BTC, batch).to(torch::kDouble).sum(1));
    copy_to(results.counted, first, counted_BT.sum(1));
    copy_to(results.right, first, ((logits_BTC.argmax(-1) == labels_BT) & counted_BT).sum(1));
  }

  /// One pass over the model as it is, for what replacements need.
  void look() {
    const auto layers = static_cast<std::size_t>(n_places());
    struct Sums {
      std::vector<torch::Tensor> heads_HTE, entropy_H;
      std::vector<double> rows;
    };
    std::vector<Sums> sums(static_cast<std::size_t>(replicas.size()),
                           {std::vector<torch::Tensor>(layers), std::vector<torch::Tensor>(layers),
                            std::vector<double>(layers)});
    const auto add = [](torch::Tensor& sum, const torch::Tensor& part) {
      sum = sum.defined() ? sum + part : part;
    };
    base = empty_results(n);
    in_chunks(n, [&](std::int64_t share, std::int64_t first, std::int64_t count) {
      const torch::NoGradGuard no_grad;
      Sums& mine = sums[static_cast<std::size_t>(share)];
      const BatchTensors batch = to_tensors(task.batch(tasks::Split::kTest, first, count), torch::kCPU);
      nn::HeadProbe probe;
      probe.edit_heads = [&](std::int64_t layer, const torch::Tensor& heads_BHTE) {
        add(mine.heads_HTE[static_cast<std::size_t>(layer)], heads_BHTE.to(torch::kDouble).sum(0));
        return heads_BHTE;
      };
      fill(base, first, forward(batch, probe), batch);
      models::MiniTransformer shared = model;
      for (std::size_t layer = 0; layer < layers; ++layer) {
        const auto [sum_H, counted] = entropy_sums(
            probe.patterns[layer], shared->visible(batch.input, static_cast<std::int64_t>(layer)));
        add(mine.entropy_H[layer], sum_H);
        mine.rows[layer] += counted;
      }
    });
    for (std::size_t layer = 0; layer < layers; ++layer) {
      torch::Tensor heads_HTE, entropy_H;
      double rows = 0.0;
      for (const Sums& share : sums) {
        rows += share.rows[layer];
        if (!share.heads_HTE[layer].defined()) continue;
        add(heads_HTE, share.heads_HTE[layer]);
        add(entropy_H, share.entropy_H[layer]);
      }
      mean_HTE.push_back((heads_HTE / static_cast<double>(n)).to(torch::kFloat32));
      for (std::int64_t head = 0; head < n_heads(); ++head)
        entropy.push_back(rows > 0.0 ? entropy_H[head].item<double>() / rows : 1.0);
    }
  }

  torch::Tensor forward(const BatchTensors& batch, nn::HeadProbe& probe) const {
    nn::Context context;
    context.probe = &probe;
    models::MiniTransformer shared = model;
    return shared->forward(batch.input, context);
  }

  HeadKernel kernel_for(Replacement replacement, const HeadPlace& place) const {
    return replacement == Replacement::kUniform ? HeadKernel{} : kernels.at(place);
  }

  /// What a pass is told so that the heads are replaced in it.
  nn::HeadProbe probe_for(Replacement replacement, const std::vector<HeadPlace>& heads,
                          const models::ModelInput& input) const {
    nn::HeadProbe probe;
    probe.keep = nn::Keep::kOutput;
    if (replacement == Replacement::kRemoved) {
      probe.gates_LH = torch::ones({n_places(), n_heads()});
      for (const HeadPlace& place : heads) probe.gates_LH[index_of(place)][place.head] = 0.0;
      return probe;
    }
    const auto edit = [this, replacement, heads, input](std::int64_t layer, const torch::Tensor& given) {
      torch::Tensor edited = given;
      for (const HeadPlace& place : heads) {
        if (index_of(place) != layer) continue;
        if (edited.is_same(given)) edited = given.clone();
        torch::Tensor head = edited.select(1, place.head);
        if (replacement == Replacement::kMean) {
          head.copy_(mean_HTE[static_cast<std::size_t>(layer)][place.head].expand_as(head));
        } else {
          models::MiniTransformer shared = model;
          const torch::Tensor visible = shared->visible(input, layer);
          const torch::Tensor tokens_BS =
              keys_are_source(place.stack) ? input.source.tokens : input.target.tokens;
          head.copy_(
              attention::head_kernel_weights(
                  kernel_for(replacement, place),
                  {visible.dim() > 2 ? visible.squeeze(1) : visible, tokens_BS,
                   place.stack == Stack::kCross ? attention::Piece{0, given.size(-2), 0, given.size(-1)}
                                                : attention::whole(given.size(-2), given.size(-1))},
                  given.options())
                  .expand_as(head));
        }
      }
      return edited;
    };
    (replacement == Replacement::kMean ? probe.edit_heads : probe.edit_pattern) = edit;
    return probe;
  }

  const tasks::Task& task;
  std::int64_t n;
  models::MiniTransformer model;
  mutable Replicas replicas;
  ExampleResults base;
  std::vector<double> entropy;
  std::vector<torch::Tensor> mean_HTE;  ///< a layer each
  std::map<HeadPlace, HeadKernel> kernels;
};

Interventions::Interventions(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             std::int64_t n) {
  if (n < 1) throw ConfigError("ablate", fmt::format("{} examples, expected at least 1", n));
  state_ = std::make_unique<State>(config, task, model, n);
}

Interventions::~Interventions() = default;

const ExampleResults& Interventions::base() const { return state_->base; }

const std::vector<double>& Interventions::entropy_normalised() const { return state_->entropy; }

std::string Interventions::model() const { return to_safetensors(*state_->model); }

void Interventions::set_kernel(const HeadPlace& place, const HeadKernel& kernel) {
  state_->check(place);
  state_->kernels[place] = kernel;
}

ExampleResults Interventions::measure(Replacement replacement, const std::vector<HeadPlace>& heads,
                                      std::int64_t n) const {
  for (const HeadPlace& place : heads) {
    state_->check(place);
    if (replacement == Replacement::kKernel && !state_->kernels.contains(place))
      throw ConfigError("ablate", fmt::format("no kernel for {}, expected one", head_name(place)));
  }
  const std::int64_t examples = std::min(n, state_->n);
  ExampleResults results = empty_results(examples);
  state_->in_chunks(examples, [&](std::int64_t, std::int64_t first, std::int64_t count) {
    const torch::NoGradGuard no_grad;
    const BatchTensors batch = to_tensors(state_->task.batch(tasks::Split::kTest, first, count), torch::kCPU);
    nn::HeadProbe probe = state_->probe_for(replacement, heads, batch.input);
    state_->fill(results, first, state_->forward(batch, probe), batch);
  });
  return results;
}

std::vector<double> Interventions::importance() const {
  const std::int64_t layers = state_->n_places(), heads = state_->n_heads();
  std::vector<torch::Tensor> sums_LH(static_cast<std::size_t>(state_->replicas.size()),
                                     torch::zeros({layers, heads}, torch::kDouble));
  state_->in_chunks(state_->n, [&](std::int64_t share, std::int64_t first, std::int64_t count) {
    const torch::AutoGradMode with_gradient(true);
    const BatchTensors batch = to_tensors(state_->task.batch(tasks::Split::kTest, first, count), torch::kCPU);
    // Each example has gates of its own: the absolute value is taken before the mean.
    const torch::Tensor gates_LBH = torch::ones({layers, count, heads}).requires_grad_();
    nn::HeadProbe probe;
    probe.keep = nn::Keep::kOutput;
    probe.edit_heads = [&](std::int64_t layer, const torch::Tensor& heads_BHTE) {
      return heads_BHTE * gates_LBH[layer].view({count, heads, 1, 1});
    };
    const torch::Tensor loss_BT = position_losses(state_->forward(batch, probe), batch);
    const torch::Tensor counted_B = (batch.labels_BT != tasks::kNotCounted).sum(1).clamp_min(1);
    const torch::Tensor gradient_LBH =
        torch::autograd::grad({(loss_BT.sum(1) / counted_B).sum()}, {gates_LBH})[0];
    torch::Tensor& sum_LH = sums_LH[static_cast<std::size_t>(share)];
    sum_LH = sum_LH + gradient_LBH.to(torch::kDouble).abs().sum(1);
  });
  const torch::Tensor importance_LH = torch::stack(sums_LH).sum(0);
  const torch::Tensor norm_L1 = importance_LH.norm(2, torch::IntArrayRef({1}), /*keepdim=*/true);
  const torch::Tensor normed_LH = (importance_LH / norm_L1.masked_fill(norm_L1 == 0.0, 1.0)).contiguous();
  return {normed_LH.data_ptr<double>(), normed_LH.data_ptr<double>() + normed_LH.numel()};
}

}  // namespace headtorch::train
