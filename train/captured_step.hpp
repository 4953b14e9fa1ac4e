#pragma once

#include <c10/core/Event.h>
#include <torch/types.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tasks/task.hpp"
#include "train/adamw.hpp"
#include "train/batch.hpp"
#include "train/settings/config.hpp"
#include "train/step_graph.hpp"

namespace headtorch::train {

/// What a step on the device left. Not finite: the step changed nothing.
struct StepReading {
  std::int64_t step = 0;
  double lr = 0.0;
  bool counted = true;     ///< false: no position of the batch was, and no step was taken
  double loss = 0.0;       ///< mean over counted positions
  double grad_norm = 0.0;  ///< before clipping
};

/// Why the steps of a run cannot be captured: one clause; empty: nothing speaks against it.
/// @param attention_path as RunResult has it.
std::string why_not_captured(const TrainOptions& options, std::string_view attention_path);

/// One optimizer step after another on a GPU without waiting for any: batch and learning rate are copied into
/// tensors that stay, a CUDA graph does forward, backward, clip and AdamW, and loss and norm are read a few
/// steps later. A step taken elsewhere with the same optimizer may come between. On a CPU (in tests) the same
/// step is done at once.
class CapturedStep {
 public:
  /// Leaves the gradient of the summed loss in optimizer.gradient().  @returns that loss, a scalar.
  using Backward = std::function<torch::Tensor(const BatchTensors& batch)>;

  /// @param optimizer outlives this.  @param clip as AdamW::step.
  CapturedStep(AdamW& optimizer, double clip, torch::Device device, Backward backward);
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  /// Begins a step on the mean loss over counted positions; waits while kInFlight others are under way.
  /// @returns false when it was not begun and is the caller's, who waits for the others first: for a batch of
  /// other sizes than the first, and from a step on that cannot be captured. The log says why, once.
  bool take(std::int64_t step, double lr, const tasks::Batch& batch);

  /// What is known by now and was not given before, in the order of steps; `wait`: of all steps.
  std::vector<StepReading> finished();
  std::vector<StepReading> wait();

  static constexpr std::size_t kInFlight = 8;

 private:
  /// A step under way: what is copied to the device and back, in memory that a GPU reaches by itself.
  struct Slot {
    torch::Tensor integers, numbers, results;
    std::optional<c10::Event> done;  // on a GPU
    StepReading reading;
    std::int64_t n_counted = 0;
  };

  void allocate(const tasks::Batch& batch);
  bool fits(const tasks::Batch& batch) const;
  void send(const Slot& slot, const tasks::Batch& batch);
  void work();
  void run();
  bool is_done(const Slot& slot) const;
  void read_oldest();

  AdamW& optimizer_;
  double clip_;
  torch::Device device_;
  Backward backward_;

  torch::Tensor integers_, numbers_;  // on the device: all that a step reads; the next are views of them
  BatchTensors batch_;
  torch::Tensor lr_, n_counted_;  // scalars
  torch::Tensor results_;         // [2] float64: summed loss, norm
  std::array<std::int64_t, 7> sizes_{};

  std::array<Slot, kInFlight> slots_;
  std::size_t begun_ = 0, read_ = 0;  // steps
  std::vector<StepReading> known_;    // and not given yet
  bool gave_up_ = false, told_of_sizes_ = false;
  std::unique_ptr<StepGraph> graph_;  // of `work`; none on a CPU
};

}  // namespace headtorch::train
