#include "train/captured_step.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <torch/torch.h>

#include <algorithm>

#include "train/side_by_side.hpp"

namespace headtorch::train {
namespace {

template <typename T>
using Parts = std::vector<const std::vector<T>*>;

constexpr std::int64_t kOwnNumbers = 2;  // behind those of the batch: learning rate, counted positions

/// In the order in which they lie on the device.
Parts<std::int64_t> integers_of(const tasks::Batch& batch, bool with_lengths) {
  Parts<std::int64_t> parts{&batch.tokens, &batch.labels, &batch.source.tokens};
  if (with_lengths) parts.push_back(&batch.source.lengths);
  return parts;
}

Parts<float> numbers_of(const tasks::Batch& batch) {
  return {&batch.features, &batch.source.features, &batch.values};
}

template <typename T>
std::int64_t total(const Parts<T>& parts) {
  std::int64_t count = 0;
  for (const auto* part : parts) count += std::ssize(*part);
  return count;
}

template <typename T>
T* copy_into(const torch::Tensor& place, const Parts<T>& parts) {
  T* to = place.data_ptr<T>();
  for (const auto* part : parts) to = std::copy(part->begin(), part->end(), to);
  return to;
}

/// Views of a flat tensor, one behind the other.
struct Cutter {
  torch::Tensor flat;
  std::int64_t at = 0;

  torch::Tensor next(const std::vector<std::int64_t>& shape) {
    const std::int64_t count = c10::multiply_integers(shape);
    at += count;
    return flat.narrow(0, at - count, count).view(shape);
  }
  /// Undefined without any.
  torch::Tensor features(const std::vector<float>& values, std::int64_t examples, std::int64_t length) {
    if (values.empty()) return {};
    return next({examples, length, std::ssize(values) / (examples * length)});
  }
};

std::array<std::int64_t, 7> sizes_of(const tasks::Batch& batch) {
  return {batch.examples,
          batch.length,
          batch.source.length,
          std::ssize(batch.features),
          std::ssize(batch.values),
          std::ssize(batch.source.features),
          std::ssize(batch.source.lengths)};
}

}  // namespace

std::string why_not_captured(const TrainOptions& options, std::string_view attention_path) {
  if (options.accumulate > 1) return "accumulate adds several batches into a step";
  if (options.precision == Precision::kFloat16)
    return "float16 scales each loss by what the last step showed";
  if (options.recompute) return "recompute sets the random generator back within a step";
  if (attention_path == "blocked") return "blocked attention sets the random generator back within a step";
  if (runs_beside_others()) return "other trainings run beside this one";
  return {};
}

CapturedStep::CapturedStep(AdamW& optimizer, double clip, torch::Device device, Backward backward)
    : optimizer_(optimizer), clip_(clip), device_(device), backward_(std::move(backward)) {}

void CapturedStep::allocate(const tasks::Batch& batch) {
  const std::int64_t examples = batch.examples, length = batch.length, source = batch.source.length;
  const bool with_lengths = is_padded(batch.source);
  const std::int64_t n_integers = total(integers_of(batch, with_lengths));
  const std::int64_t n_numbers = total(numbers_of(batch)) + kOwnNumbers;
  sizes_ = sizes_of(batch);
  integers_ = torch::zeros({n_integers}, torch::dtype(torch::kLong).device(device_));
  numbers_ = torch::zeros({n_numbers}, torch::dtype(torch::kFloat32).device(device_));
  results_ = torch::zeros({2}, torch::dtype(torch::kDouble).device(device_));
  for (Slot& slot : slots_) {
    const auto on_host = [&](std::int64_t size, torch::ScalarType type) {
      return torch::empty({size}, torch::dtype(type).pinned_memory(device_.is_cuda()));
    };
    slot.integers = on_host(n_integers, torch::kLong);
    slot.numbers = on_host(n_numbers, torch::kFloat32);
    slot.results = on_host(2, torch::kDouble);
    if (device_.is_cuda()) slot.done.emplace(device_.type());
  }

  Cutter integers{integers_}, numbers{numbers_};
  models::Sequence target{integers.next({examples, length})}, from;
  batch_.labels_BT = integers.next({examples, length});
  target.features = numbers.features(batch.features, examples, length);
  if (source > 0) {
    from.tokens = integers.next({examples, source});
    if (with_lengths) from.lengths_B = integers.next({examples});
    from.features = numbers.features(batch.source.features, examples, source);
  }
  if (!batch.values.empty()) batch_.values_BT = numbers.next({examples, length});
  batch_.input = models::ModelInput(std::move(target), std::move(from));
  lr_ = numbers.next({});
  n_counted_ = numbers.next({});
}

bool CapturedStep::fits(const tasks::Batch& batch) const {
  return sizes_of(batch) == sizes_ && (batch_.input.source.lengths_B.defined() || !is_padded(batch.source));
}

bool CapturedStep::take(std::int64_t step, double lr, const tasks::Batch& batch) {
  if (gave_up_) return false;
  if (!integers_.defined()) allocate(batch);
  if (!fits(batch)) {
    if (!told_of_sizes_)
      spdlog::info("step {}: its batch has other sizes than the first, so it is not captured", step);
    told_of_sizes_ = true;
    return false;
  }
  if (begun_ - read_ == kInFlight) read_oldest();
  Slot& slot = slots_[begun_ % kInFlight];
  slot.n_counted = count_labels(batch);
  slot.reading = {.step = step, .lr = lr, .counted = slot.n_counted > 0};
  if (slot.reading.counted) {
    send(slot, batch);
    try {
      run();
    } catch (const NotCapturable& error) {
      spdlog::info("steps are not captured as a CUDA graph: {}", error.what());
      gave_up_ = true;
      return false;
    }
    slot.results.copy_(results_, /*non_blocking=*/true);
    if (slot.done) slot.done->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  ++begun_;
  return true;
}

void CapturedStep::send(const Slot& slot, const tasks::Batch& batch) {
  copy_into(slot.integers, integers_of(batch, batch_.input.source.lengths_B.defined()));
  float* own = copy_into(slot.numbers, numbers_of(batch));
  own[0] = static_cast<float>(slot.reading.lr);
  own[1] = static_cast<float>(slot.n_counted);
  integers_.copy_(slot.integers, /*non_blocking=*/true);
  numbers_.copy_(slot.numbers, /*non_blocking=*/true);
}

void CapturedStep::run() {
  if (!device_.is_cuda()) return work();
  if (graph_ == nullptr) graph_ = std::make_unique<StepGraph>([this] { work(); });
  graph_->run();
}

void CapturedStep::work() {
  const torch::Tensor loss = backward_(batch_).detach();
  const torch::NoGradGuard no_grad;
  // A loss that is not finite changes nothing either, whatever its gradient: 0 times it is not finite.
  const torch::Tensor scale = (n_counted_ + 0.0 * loss).reciprocal();
  const torch::Tensor norm = optimizer_.step_on_device(lr_, clip_, scale);
  results_.copy_(torch::stack({loss.to(torch::kDouble), norm.to(torch::kDouble)}));
}

std::vector<StepReading> CapturedStep::finished() {
  while (read_ < begun_ && is_done(slots_[read_ % kInFlight])) read_oldest();
  return std::exchange(known_, {});
}

std::vector<StepReading> CapturedStep::wait() {
  while (read_ < begun_) read_oldest();
  return std::exchange(known_, {});
}

bool CapturedStep::is_done(const Slot& slot) const {
  return !slot.reading.counted || !slot.done || slot.done->query();
}

void CapturedStep::read_oldest() {
  Slot& slot = slots_[read_++ % kInFlight];
  if (slot.reading.counted) {
    if (slot.done) slot.done->synchronize();
    const auto* results = slot.results.data_ptr<double>();
    slot.reading.loss = results[0] / static_cast<double>(slot.n_counted);
    slot.reading.grad_norm = results[1];
  } else {
    slot.reading.loss = slot.reading.grad_norm = std::numeric_limits<double>::quiet_NaN();
  }
  known_.push_back(slot.reading);
}

}  // namespace headtorch::train
