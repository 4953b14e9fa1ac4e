#include "train/gradients.hpp"

#include <torch/torch.h>

#include "src/nn/dropout.hpp"
#include "train/batch.hpp"
#include "train/engine_for.hpp"
#include "train/entropy_bonus.hpp"

namespace headtorch::train {

Gradients::Gradients(const RunConfig& config, const tasks::Task& task, models::MiniTransformer& model,
                     AdamW& optimizer, Replicas& replicas, torch::Device device)
    : options_(config.train),
      task_(task),
      model_(model),
      optimizer_(optimizer),
      replicas_(replicas),
      device_(device),
      loss_scale_(options_.precision),
      why_modules_(train::why_modules(config, task.shape(), device)) {
  for (std::int64_t share = 1; share < replicas.size(); ++share) others_.push_back(optimizer.new_gradient());
  if (why_modules_.empty()) engine_ = make_engine(model, optimizer, config, replicas.size());
}

std::optional<double> Gradients::accumulate(std::int64_t step) {
  std::vector<engine::Counted> counted(static_cast<std::size_t>(replicas_.size()));
  if (engine_) engine_->refresh();
  replicas_.run([&](std::int64_t share) {
    const auto at = static_cast<std::size_t>(share);
    torch::Tensor& flat = share == 0 ? optimizer_.gradient() : others_[at - 1];
    flat.zero_();
    for (std::int64_t part = 0; part < options_.accumulate; ++part) {
      const std::int64_t batch_index = (step - 1) * options_.accumulate + part;
      counted[at] +=
          engine_ ? through_engine(share, batch_index, flat) : through_modules(share, batch_index, flat);
    }
  });
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& flat : others_) optimizer_.gradient().add_(flat);
  engine::Counted total;
  for (const engine::Counted& own : counted) total += own;
  if (total.positions == 0) return std::nullopt;
  const auto positions = static_cast<double>(total.positions);
  scale_ = 1.0 / (positions * loss_scale_.factor());
  return total.loss / positions;
}

std::int64_t Gradients::first_example(std::int64_t share) const {
  return options_.batch * share / replicas_.size();
}

tasks::Batch Gradients::share_of_batch(std::int64_t share, std::int64_t batch_index) const {
  const std::int64_t first = first_example(share);
  return task_.batch(tasks::Split::kTrain, batch_index * options_.batch + first,
                     first_example(share + 1) - first);
}

engine::Counted Gradients::through_engine(std::int64_t share, std::int64_t batch_index, torch::Tensor& flat) {
  const tasks::Batch batch = share_of_batch(share, batch_index);
  return engine_->accumulate(share, engine::sequences_of(batch, first_example(share)),
                             {static_cast<std::uint64_t>(options_.seed), batch_index},
                             flat.data_ptr<float>());
}

engine::Counted Gradients::through_modules(std::int64_t share, std::int64_t batch_index,
                                           torch::Tensor& flat) {
  const tasks::Batch batch = share_of_batch(share, batch_index);
  nn::DropoutStream stream(static_cast<std::uint64_t>(options_.seed), batch_index, first_example(share));
  const torch::Tensor loss = add(to_tensors(batch, device_), device_.is_cpu() ? &stream : nullptr, flat);
  return {loss.item<double>(), count_labels(batch)};
}

torch::Tensor Gradients::of(const BatchTensors& batch) {
  optimizer_.gradient().zero_();
  return add(batch, nullptr, optimizer_.gradient());
}

torch::Tensor Gradients::add(const BatchTensors& batch, nn::DropoutStream* dropout, torch::Tensor& flat) {
  nn::Context context;
  context.dropout = dropout;
  std::optional<EntropyBonus> bonus;
  if (options_.entropy_weight > 0.0) context.probe = &bonus.emplace(model_, batch.input).probe();
  torch::Tensor loss;
  {
    const Autocast lower(options_.precision, device_);
    loss = summed_loss(model_->forward(batch.input, context), batch, options_.label_smoothing);
  }
  torch::Tensor objective = bonus ? loss - options_.entropy_weight * bonus->sum(batch.labels_BT) : loss;
  if (loss_scale_.factor() != 1.0) objective = objective * loss_scale_.factor();
  optimizer_.add(torch::autograd::grad({objective}, optimizer_.parameters(), {}, /*retain_graph=*/false,
                                       /*create_graph=*/false, /*allow_unused=*/true),
                 flat);
  return loss;
}

}  // namespace headtorch::train
