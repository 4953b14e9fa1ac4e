#include "train/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <cstring>

#include "src/core/error.hpp"
#include "src/store/safetensors.hpp"

namespace headtorch::train {

std::string to_safetensors(const torch::nn::Module& module) {
  store::TensorFile file;
  file.metadata["format"] = "pt";
  for (const auto& item : module.named_parameters()) {
    const torch::Tensor values = item.value().detach().to(torch::kCPU, torch::kFloat32).contiguous();
    file.tensors[item.key()] = {store::DType::kF32, values.sizes().vec(),
                                std::string(static_cast<const char*>(values.data_ptr()), values.nbytes())};
  }
  return store::write_safetensors(file);
}

void from_safetensors(std::string_view bytes, std::string_view file, torch::nn::Module& module) {
  const store::TensorFile stored = store::read_safetensors(bytes, file);
  const auto parameters = module.named_parameters();
  for (const auto& item : parameters) {
    const auto found = stored.tensors.find(item.key());
    if (found == stored.tensors.end()) throw DataError(file, fmt::format("has no tensor {}", item.key()));
    if (found->second.dtype != store::DType::kF32 || found->second.shape != item.value().sizes().vec()) {
      throw DataError(
          file, fmt::format("tensor {} has shape [{}], expected float32 [{}]", item.key(),
                            fmt::join(found->second.shape, ", "), fmt::join(item.value().sizes(), ", ")));
    }
  }
  for (const auto& [name, tensor] : stored.tensors) {
    if (!parameters.contains(name))
      throw DataError(file, fmt::format("holds the tensor {}, which the model has not", name));
  }
  const torch::NoGradGuard no_grad;
  for (const auto& item : parameters) {
    const store::StoredTensor& tensor = stored.tensors.at(item.key());
    const torch::Tensor values = torch::empty(tensor.shape, torch::kFloat32);
    std::memcpy(values.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
    torch::Tensor parameter = item.value();
    parameter.copy_(values);
  }
}

void check_finite(const torch::nn::Module& module, std::string_view file) {
  for (const auto& parameter : module.named_parameters()) {
    if (!parameter.value().isfinite().all().item<bool>()) {
      throw DataError(std::string(file),
                      "holds numbers in " + parameter.key() +
                          " that are not finite, expected a model that can be run (see diagnose)");
    }
  }
}

}  // namespace headtorch::train
