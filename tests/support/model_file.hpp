#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "src/store/safetensors.hpp"
#include "train/settings/config.hpp"

namespace headtorch::test {

/// A checkpoint written by hand: every weight is 0, norms are plain. For models without feed-forward and
/// without positions, with learned scores.
class ModelFile {
 public:
  ModelFile(const train::RunConfig& config, std::int64_t n_symbols, std::int64_t n_classes) {
    const std::int64_t d = config.model.d_model;
    add("embedding.weight", {n_symbols, d}, 0.0F);
    add("output.weight", {n_classes, d}, 0.0F);
    add("output.bias", {n_classes}, 0.0F);
    for (std::int64_t l = 0; l < config.model.n_layers; ++l) {
      const std::string layer = "encoder.layers." + std::to_string(l) + ".";
      add(layer + "attention.in_proj_weight", {3 * d, d}, 0.0F);
      add(layer + "attention.in_proj_bias", {3 * d}, 0.0F);
      add(layer + "attention.out_proj.weight", {d, d}, 0.0F);
      add(layer + "attention.out_proj.bias", {d}, 0.0F);
      add(layer + "norm1.weight", {d}, 1.0F);
      add(layer + "norm1.bias", {d}, 0.0F);
    }
    if (config.model.norm == nn::NormPlace::kPre) {
      add("encoder.norm.weight", {d}, 1.0F);
      add("encoder.norm.bias", {d}, 0.0F);
    }
  }

  /// Element [row, column] of a matrix, or [0, column] of a vector.
  float& at(const std::string& name, std::int64_t row, std::int64_t column) {
    Tensor& tensor = tensors_.at(name);
    return tensor.values.at(static_cast<std::size_t>(row * tensor.shape.back() + column));
  }

  std::string bytes() const {
    store::TensorFile file;
    file.metadata["format"] = "pt";
    for (const auto& [name, tensor] : tensors_) {
      std::string bytes(tensor.values.size() * sizeof(float), '\0');
      std::memcpy(bytes.data(), tensor.values.data(), bytes.size());
      file.tensors[name] = {store::DType::kF32, tensor.shape, bytes};
    }
    return store::write_safetensors(file);
  }

 private:
  struct Tensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
  };

  void add(const std::string& name, const std::vector<std::int64_t>& shape, float value) {
    std::size_t size = 1;
    for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
    tensors_[name] = {shape, std::vector<float>(size, value)};
  }

  std::map<std::string, Tensor> tensors_;
};

}  // namespace headtorch::test
