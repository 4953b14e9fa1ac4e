#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <set>
#include <string>

#include "src/core/error.hpp"
#include "train/batch.hpp"
#include "train/record.hpp"

// A CUDA graph can hold a step only if the host reads nothing and copies nothing to the device in it. The
// meta device, whose tensors have no values, shows both without a GPU.

namespace headtorch::train {
namespace {

std::set<std::string>& copied() {
  static std::set<std::string> names;
  return names;
}

/// Notes the shapes of host tensors that are converted while it lives.
class CopyWatch {
 public:
  CopyWatch() {
    copied().clear();
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&CopyWatch::note).needsInputs(true));
  }
  ~CopyWatch() { at::removeCallback(handle_); }
  CopyWatch(const CopyWatch&) = delete;
  CopyWatch& operator=(const CopyWatch&) = delete;

 private:
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call) {
    const std::string name = call.name();
    if (name != "aten::_to_copy" && name != "aten::copy_") return nullptr;
    for (const c10::IValue& input : call.inputs()) {
      if (input.isTensor() && input.toTensor().defined() && input.toTensor().is_cpu())
        copied().insert(name + " of " + c10::str(input.toTensor().sizes()));
    }
    return nullptr;
  }

  at::CallbackHandle handle_{};
};

/// What LibTorch knows in Python only.
torch::Tensor selected(const torch::Tensor& from, std::int64_t dim, const torch::Tensor& index) {
  std::vector<std::int64_t> sizes = from.sizes().vec();
  sizes[static_cast<std::size_t>(dim < 0 ? dim + from.dim() : dim)] = index.numel();
  return torch::empty(sizes, from.options());
}

torch::Tensor embedding_gradient(const torch::Tensor& grad, const torch::Tensor&, std::int64_t n_weights,
                                 std::int64_t, bool) {
  return torch::empty({n_weights, grad.size(-1)}, grad.options());
}

using Three = std::tuple<torch::Tensor, torch::Tensor, torch::Tensor>;

Three normed(const torch::Tensor& x, c10::SymIntArrayRef, const std::optional<torch::Tensor>&,
             const std::optional<torch::Tensor>&, double) {
  const torch::Tensor row = torch::empty_like(x.select(-1, 0).unsqueeze(-1));
  return {torch::empty_like(x), row, row.clone()};
}

Three norm_gradient(const torch::Tensor& grad, const torch::Tensor& x, c10::SymIntArrayRef,
                    const torch::Tensor&, const torch::Tensor&, const std::optional<torch::Tensor>& weight,
                    const std::optional<torch::Tensor>& bias, std::array<bool, 3>) {
  return {torch::empty_like(x), weight ? torch::empty_like(*weight) : grad,
          bias ? torch::empty_like(*bias) : grad};
}

torch::Tensor chosen(const torch::Tensor& condition, const torch::Tensor& a, const torch::Tensor& b) {
  return torch::empty_like(condition * (a + b));
}

torch::Tensor like(const torch::Tensor& x) { return torch::empty_like(x); }

torch::Tensor boolean(const torch::Tensor& x) { return torch::empty_like(x, torch::kBool); }

torch::Tensor distances(const torch::Tensor& a, const torch::Tensor& b, double, std::optional<std::int64_t>) {
  return torch::empty_like(a.matmul(b.transpose(-2, -1)));
}

torch::Tensor distance_gradient(const torch::Tensor&, const torch::Tensor& a, const torch::Tensor&, double,
                                const torch::Tensor&) {
  return torch::empty_like(a);
}

TORCH_LIBRARY_IMPL(aten, Meta, library) {
  library.impl("index_select", &selected);
  library.impl("native_layer_norm", &normed);
  library.impl("native_layer_norm_backward", &norm_gradient);
  library.impl("where.self", &chosen);
  library.impl("abs", &like);
  library.impl("logical_not", &boolean);
  library.impl("_cdist_forward", &distances);
  library.impl("_cdist_backward", &distance_gradient);
  library.impl("embedding_dense_backward", &embedding_gradient);
}

/// Module::to refuses: a parameter stays of its kind of device.
void move_to_meta(const torch::nn::Module& module) {
  for (const torch::Tensor& parameter : module.parameters())
    parameter.unsafeGetTensorImpl()->shallow_copy_from(parameter.detach().to(torch::kMeta).getIntrusivePtr());
}

TEST(Capturable, No_model_reads_or_copies_within_a_step) {
  int models = 0;
  for (const char* task_name : {"induction", "reverse", "dates"}) {
    for (std::size_t score = 0; score < std::size(nn::kScoreNames); ++score) {
      for (std::size_t position = 0; position < std::size(nn::kPositionNames); ++position) {
        RunConfig config = default_config(task_name);
        config.model.d_model = 16;
        config.model.n_heads = 2;
        config.model.d_ff = 32;
        config.model.n_layers = 1;
        config.model.attention.score = static_cast<nn::Score>(score);
        config.model.position = static_cast<nn::Position>(position);
        config.model.attention.attention_dropout = config.model.dropout = score % 2 == 0 ? 0.1 : 0.0;
        config.train.batch = 4;
        const auto task = make_task(config);
        models::MiniTransformer model{nullptr};
        try {
          model = models::MiniTransformer(config.model, sizes_for(task->shape()));
        } catch (const ConfigError&) {
          continue;  // a score and a position that do not go together
        }
        ++models;
        SCOPED_TRACE(std::string(task_name) + " " + std::string(nn::kScoreNames[score]) + " " +
                     std::string(nn::kPositionNames[position]));
        move_to_meta(*model);
        model->train();
        const BatchTensors batch = to_tensors(task->batch(tasks::Split::kTrain, 0, 4), torch::kMeta);
        const CopyWatch watch;
        EXPECT_NO_THROW({
          const torch::Tensor loss = summed_loss(model->forward(batch.input), batch);
          torch::autograd::grad({loss}, model->parameters(), {}, /*retain_graph=*/false,
                                /*create_graph=*/false, /*allow_unused=*/true);
        });
        EXPECT_EQ(copied(), std::set<std::string>{});
      }
    }
  }
  EXPECT_GT(models, 50);
}

}  // namespace
}  // namespace headtorch::train
