#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/probe/ablation_report.hpp"
#include "src/tasks/task.hpp"
#include "train/settings/config.hpp"

namespace headtorch::train {

enum class Replacement {
  kRemoved,  ///< the head's output is 0 before heads are merged; the bias after the merge stays
  kMean,     ///< its output is the mean over the examples, one for each position
  kUniform,  ///< its weights are uniform over visible keys
  kKernel,   ///< its weights are those of the kernel given
};

/// A stored model whose heads are removed or replaced for one pass at a time: parameters never change.
/// Everything is measured in evaluation mode on the first `n` examples of the test split, on the CPU; the
/// number of threads changes no more than a rounding. After a signal (src/core/interrupt.hpp) measuring
/// throws Error(kInterrupted or kTerminated).
class Interventions {
 public:
  /// @param model a checkpoint's model.safetensors.  @throws DataError naming the tensor when it does not fit
  /// the config.
  Interventions(const RunConfig& config, const tasks::Task& task, std::string_view model, std::int64_t n);
  ~Interventions();
  Interventions(const Interventions&) = delete;
  Interventions& operator=(const Interventions&) = delete;

  /// The model as it is.
  const probe::ExampleResults& base() const;
  /// Of each head's weights, mean over rows with at least 2 visible keys: [layers * heads], 1 where no row
  /// has.
  const std::vector<double>& entropy_normalised() const;
  /// Michel's importance: mean over examples of |dL/d gate| at gate 1, L an example's mean loss; divided by
  /// the layer's l2 norm.  @returns [layers * heads].
  std::vector<double> importance() const;

  /// The kernel of a head for kKernel.  @throws ConfigError for a head that is not there.
  void set_kernel(const HeadPlace& place, const HeadKernel& kernel);
  /// The results with these heads replaced, in any order, on the first `n` of the examples.
  /// @throws ConfigError for a head that is not there, or has no kernel under kKernel.
  probe::ExampleResults measure(Replacement replacement, const std::vector<HeadPlace>& heads,
                                std::int64_t n) const;

  /// The parameters as a safetensors file: the bytes that were read.
  std::string model() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headtorch::train
