#include "src/attention/recompute.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include "src/attention/replay.hpp"

namespace headtorch::attention {
namespace {

using torch::autograd::variable_list;

struct Call : torch::CustomClassHolder {
  Call(TensorFunction function, std::size_t inputs, at::TensorList tensors)
      : f(std::move(function)), n_inputs(inputs), surroundings(tensors) {}
  TensorFunction f;
  std::size_t n_inputs;
  Surroundings surroundings;
};

struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList tensors,
                            const c10::intrusive_ptr<Call>& call) {
    context->save_for_backward(tensors.vec());
    context->saved_data["call"] = at::IValue::make_capsule(call);
    const NoAutocastCache no_cache;
    return call->f(tensors.slice(0, call->n_inputs).vec());
  }

  static variable_list backward(torch::autograd::AutogradContext* context, const variable_list& grad_y) {
    refuse_second_derivatives("attention.recompute");
    const auto call = c10::static_intrusive_pointer_cast<Call>(context->saved_data["call"].toCapsule());
    variable_list sources = context->get_saved_variables(), inputs;
    for (std::size_t i = 0; i < call->n_inputs; ++i) {
      inputs.push_back(sources[i] = fresh_leaf(sources[i], context->needs_input_grad(i)));
    }
    const Replay replay(call->surroundings);
    const NoAutocastCache no_cache;
    const at::AutoGradMode with_graph(true);
    variable_list gradients = gradients_of(call->f(inputs), sources, grad_y[0]);
    gradients.emplace_back();  // of the call itself
    return gradients;
  }
};

}  // namespace

at::Tensor recompute(const TensorFunction& f, const std::vector<at::Tensor>& inputs,
                     const std::vector<at::Tensor>& captured) {
  variable_list tensors = inputs;
  tensors.insert(tensors.end(), captured.begin(), captured.end());
  const auto needs_gradient = [](const at::Tensor& t) { return t.defined() && t.requires_grad(); };
  if (!at::GradMode::is_enabled() || std::none_of(tensors.begin(), tensors.end(), needs_gradient)) {
    return f(inputs);
  }
  return Recompute::apply(at::TensorList(tensors), c10::make_intrusive<Call>(f, inputs.size(), tensors));
}

}  // namespace headtorch::attention
