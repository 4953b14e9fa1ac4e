#include "train/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "src/core/error.hpp"

namespace headtorch::train {
namespace {

/// GPUs that the NVIDIA driver reports; 0 without a driver. Asks the driver itself, so that LibTorch is not
/// touched.
int driver_gpu_count() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int gpus = 0;
  const bool works = init != nullptr && count != nullptr && init(0) == 0 && count(&gpus) == 0;
  return works ? gpus : 0;
}

}  // namespace

c10::Device choose_device(DeviceChoice choice) {
  if (choice == DeviceChoice::kCpu) return c10::kCPU;
  if (driver_gpu_count() == 0) {
    if (choice == DeviceChoice::kAuto) return c10::kCPU;
    throw ConfigError("device", "cuda was asked for and no NVIDIA GPU was found, expected cpu or auto here");
  }
  // Linked nowhere: registering itself is all that the library has to do.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const std::string why = dlerror();
    if (choice == DeviceChoice::kAuto) return c10::kCPU;
    throw Error(
        ExitCode::kSetupIncomplete, "device",
        fmt::format("a GPU is there and LibTorch's CUDA libraries cannot be loaded ({}), expected the full "
                    "download: remove third_party/libtorch and run ./headtorch again",
                    why));
  }
  if (!torch::cuda::is_available()) {
    if (choice == DeviceChoice::kAuto) return c10::kCPU;
    throw ConfigError("device",
                      "cuda was asked for and LibTorch reports no usable GPU, expected cpu or auto here");
  }
  return c10::Device(c10::kCUDA, 0);
}

}  // namespace headtorch::train
