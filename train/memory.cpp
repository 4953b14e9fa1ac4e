#include "train/memory.hpp"

#include <fmt/format.h>
#include <torch/torch.h>
#include <unistd.h>

#include <new>
#include <string_view>

#include "src/core/error.hpp"

namespace headtorch::train {
namespace {

double physical_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

double estimated_bytes(const RunConfig& config, const tasks::TaskShape& shape) {
  constexpr double kFloat = 4.0;
  const models::ModelOptions& model = config.model;
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double d = number(model.d_model), ff = number(model.d_ff), layers = number(model.n_layers);
  const double length = number(shape.seq_len), tokens = number(config.train.batch) * length;
  const double parameters =
      layers * (4.0 * d * d + 2.0 * d * ff) + d * number(shape.n_symbols + shape.n_classes);
  // Four numbers a weight: itself, its gradient, two moments. A layer keeps q, k, v, the heads, two norms,
  // two branches and their masks; the feed-forward its input, activation and mask; attention its weights,
  // twice with dropout.
  const double kept = tokens * (layers * (12.0 * d + 3.0 * ff + 3.0 * number(model.n_heads) * length) +
                                2.0 * number(shape.n_classes));
  return kFloat * (4.0 * parameters + kept);
}

RunResult with_memory_advice(const RunConfig& config, const tasks::TaskShape& shape,
                             const std::function<RunResult()>& work) {
  const auto out_of_memory = [&] {
    return Error(
        ExitCode::kOutOfMemory, "train",
        fmt::format(
            "out of memory: this run needs about {:.0f} MiB; lower --batch or --seq-len, then --d-model",
            estimated_bytes(config, shape) / (1024.0 * 1024.0)));
  };
  // The kernel kills a process that touches more than there is, so what cannot fit is refused before it
  // starts.
  if (config.train.device != DeviceChoice::kCuda && estimated_bytes(config, shape) > physical_bytes())
    throw out_of_memory();
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw out_of_memory();
  } catch (const c10::OutOfMemoryError&) {
    throw out_of_memory();
  } catch (const c10::Error& error) {
    // The CPU allocator reports a failed allocation as a plain error.
    if (std::string_view(error.what()).find("allocate memory") != std::string_view::npos)
      throw out_of_memory();
    throw;
  }
}

}  // namespace headtorch::train
