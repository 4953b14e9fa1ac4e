#pragma once

#include <torch/torch.h>

#include "src/store/safetensors.hpp"

// Tensors to and from the files that programs of other languages are compared by.

namespace headtorch::interop {

inline torch::Dtype dtype_of(store::DType dtype) {
  if (dtype == store::DType::kBool) return torch::kBool;
  return dtype == store::DType::kF32 ? torch::kFloat32 : torch::kFloat64;
}

inline torch::Tensor to_torch(store::StoredTensor& stored) {
  return torch::from_blob(stored.bytes.data(), stored.shape, dtype_of(stored.dtype)).clone();
}

inline store::StoredTensor to_stored(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().contiguous();
  const auto dtype = plain.dtype() == torch::kFloat32 ? store::DType::kF32 : store::DType::kF64;
  return {dtype, plain.sizes().vec(), {static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()}};
}

}  // namespace headtorch::interop
