#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/tasks/task.hpp"
#include "train/settings/config.hpp"

// Whether position t of a causal model, or of a decoder, knows anything of the tokens after t (A6), and
// whether any query looks at a key that is hidden from it. What is hidden has weight 0, so every number here
// is 0 exactly when nothing leaks: there is no tolerance.

namespace headtorch::train {

/// One thing that must be 0.
struct LeakCheck {
  /// "layer 0 weights", "layer 0 heads", "layer 0 output", "logits"; of an encoder-decoder "decoder layer 0
  /// weights", "cross layer 0 heads".
  std::string place = {};
  std::string mode = {};  ///< "evaluation", "training" (dropout on, the same decisions in both passes)
  /// "mass above the diagonal"; "mass on hidden keys" (padding, windows, hidden tokens); "suffix swap":
  /// change at positions before the cut when all tokens from it on are others; "gradient": d place[t] / d
  /// embedding[s] for s > t.
  std::string form = {};
  double largest = 0.0;    ///< absolute; infinity where only one of two values is finite
  std::int64_t query = 0;  ///< where it is largest: this position ...
  std::int64_t key = 0;    ///< ... knows of this one, or of one after it
};

struct LeakReport {
  bool may_look_ahead = false;  ///< an encoder: nothing is hidden and nothing was checked
  bool finite = true;           ///< false: the model's outputs are not, and nothing can be told
  std::vector<LeakCheck> checks;

  bool leaks() const;
  /// The check with the largest number; null when there is none.
  const LeakCheck* worst() const;
};

/// kQuick: mass and suffix swaps in evaluation mode at 3 cuts. kThorough: everything, at up to 6.
enum class LeakDepth { kQuick, kThorough };

/// `model` is a checkpoint's model.safetensors; examples are from the validation split.
/// @throws DataError naming the tensor when the file does not fit the config.
LeakReport find_leaks(const RunConfig& config, const tasks::Task& task, std::string_view model,
                      LeakDepth depth);

}  // namespace headtorch::train
