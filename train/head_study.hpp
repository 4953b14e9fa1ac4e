#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/probe/circuits.hpp"
#include "src/probe/head_report.hpp"
#include "train/run.hpp"

namespace headtorch::train {

struct HeadStudyOptions {
  std::int64_t n_fit = 128;        ///< validation examples on which kernels are fitted
  std::int64_t n_judge = 128;      ///< test examples on which they are judged
  std::int64_t n_evaluated = 512;  ///< test examples, at most, on which the model is measured
  bool kernel_by_row = false;      ///< also a Gaussian of its own for each row
  bool removal = false;  ///< also scores "importance" and "ablation": one pass over test data a head
};

/// What the heads do, and what is lost when each is replaced by its nearest kernel.
struct HeadStudy {
  std::int64_t step = 0;                 ///< optimizer steps taken
  std::int64_t n_fit = 0, n_judge = 0;   ///< used: fewer when sequences are long or the split is small
  std::vector<probe::HeadReport> heads;  ///< by layer and head; with the score "copying"
  probe::Circuits circuits;
  Evaluation base;      ///< the model as it is, on n_evaluated test examples
  Evaluation replaced;  ///< with every head replaced, on the same
};

/// Studies a stored model on held-out examples; rows are weighted by their importance, the induction score
/// is taken on random tokens repeated.  `model` is a checkpoint's model.safetensors.
/// @throws DataError naming the tensor when the file does not fit the config.
HeadStudy study_heads(const RunConfig& config, const tasks::Task& task, std::string_view model,
                      std::int64_t step, const HeadStudyOptions& options = {});

/// The configuration whose model has every head replaced by its nearest kernel; checkpoints fit both.
RunConfig with_nearest_kernels(const RunConfig& config, const std::vector<probe::HeadReport>& heads);

}  // namespace headtorch::train
