#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/probe/ablation_report.hpp"
#include "train/run.hpp"

namespace headtorch::train {

struct AblationOptions {
  std::int64_t examples = 0;  ///< of the test split; 0: ablation_examples
  std::function<void(std::int64_t done, std::int64_t of, const std::string& name)> progress = {};
};

/// Test examples that an ablation reads unless told: as many as keep it below 2^24 tokens in all, 32 to 1000.
std::int64_t ablation_examples(const RunConfig& config, const tasks::Task& task);

/// What is lost when each head, each layer and all heads are removed, mean-replaced, made uniform, or
/// replaced by their nearest kernels; which heads can go in which order; and Michel's importance beside it.
/// @param model a checkpoint's model.safetensors.  @param heads their nearest kernels; without a head's, it
/// has no kernel_replaced, nor has its layer.
/// @throws DataError when the file does not fit the config, ConfigError for a head that is not there,
/// Error(kInterrupted or kTerminated) after a signal.
probe::AblationReport ablate(const RunConfig& config, const tasks::Task& task, std::string_view model,
                             const std::vector<probe::HeadReport>& heads,
                             const AblationOptions& options = {});

/// A stored model on the first `examples` of the test split.  @throws as ablate.
probe::ExampleResults measure_examples(const RunConfig& config, const tasks::Task& task,
                                       std::string_view model, std::int64_t examples);

/// The same training with one head a layer.
struct OneHead {
  RunResult result;
  probe::ExampleResults examples;  ///< the first ones of the test split, as many as the base has
  probe::Change change;            ///< against the base, from one seed of training
};
/// Its configuration: kernels in place of heads are left out, and of a kernel list the first value stays.
RunConfig one_head_config(const RunConfig& config);
/// Trains one_head_config.  @throws as run_training, and Error(kCheckFailed) when it diverges or
/// Error(kInterrupted or kTerminated) after a signal.
OneHead train_one_head(const RunConfig& config, const tasks::Task& task, const probe::ExampleResults& base,
                       const RunObserver& observer);

}  // namespace headtorch::train
