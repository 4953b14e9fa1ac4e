#include "src/attention/replay.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <mutex>

#include "src/core/error.hpp"

namespace headtorch::attention {
namespace {

constexpr std::array kAutocastDevices = {at::kCPU, at::kCUDA};

}  // namespace

Surroundings::Surroundings(at::TensorList tensors) {
  generators_.push_back({at::detail::getDefaultCPUGenerator(), {}});
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || !tensor.is_cuda()) continue;
    generators_.push_back({at::globalContext().defaultGenerator(tensor.device()), {}});
    break;
  }
  save();
}

void Surroundings::save() {
  for (auto& [generator, state] : generators_) {
    const std::scoped_lock lock(generator.mutex());
    state = generator.get_state();
  }
  for (std::size_t i = 0; i < kAutocastDevices.size(); ++i) {
    autocast_[i] = {at::autocast::is_autocast_enabled(kAutocastDevices[i]),
                    at::autocast::get_autocast_dtype(kAutocastDevices[i])};
  }
}

void Surroundings::restore() const {
  for (auto [generator, state] : generators_) {
    const std::scoped_lock lock(generator.mutex());
    generator.set_state(state);
  }
  for (std::size_t i = 0; i < kAutocastDevices.size(); ++i) {
    at::autocast::set_autocast_enabled(kAutocastDevices[i], autocast_[i].enabled);
    at::autocast::set_autocast_dtype(kAutocastDevices[i], autocast_[i].dtype);
  }
}

Replay::Replay(const Surroundings& saved) : before_(saved) {
  before_.save();
  saved.restore();
}

Replay::~Replay() { before_.restore(); }

NoAutocastCache::NoAutocastCache() : before_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_cache_enabled(false);
}

NoAutocastCache::~NoAutocastCache() { at::autocast::set_autocast_cache_enabled(before_); }

at::Tensor fresh_leaf(const at::Tensor& source, bool needs_gradient) {
  return source.defined() ? source.detach().requires_grad_(needs_gradient) : source;
}

std::vector<at::Tensor> gradients_of(const at::Tensor& y, const std::vector<at::Tensor>& sources,
                                     const at::Tensor& grad_y) {
  std::vector<at::Tensor> gradients(sources.size()), wanted;
  for (const at::Tensor& source : sources) {
    if (source.defined() && source.requires_grad()) wanted.push_back(source);
  }
  if (wanted.empty() || !y.requires_grad()) return gradients;
  const auto found = torch::autograd::grad({y}, wanted, {grad_y}, /*retain_graph=*/false,
                                           /*create_graph=*/false, /*allow_unused=*/true);
  std::size_t next = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].defined() && sources[i].requires_grad()) gradients[i] = found[next++];
  }
  return gradients;
}

void refuse_second_derivatives(std::string_view where) {
  if (at::GradMode::is_enabled()) {
    throw Error(ExitCode::kInternal, where, "has no second derivatives, expected create_graph = false");
  }
}

}  // namespace headtorch::attention
