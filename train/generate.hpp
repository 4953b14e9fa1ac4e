#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sampling.hpp"
#include "src/tasks/task.hpp"
#include "train/settings/config.hpp"

// Generation as the verbs need it, without LibTorch's headers.

namespace headtorch::train {

struct TextRequest {
  std::string prompt;               ///< what is continued, or the source that is answered
  std::int64_t max_new_tokens = 0;  ///< 0: 200 of a text, else to the end of the model's context
  std::int64_t samples = 1;
  models::SamplingOptions sampling = {};
  std::uint64_t seed = 1;  ///< sample n draws from stream n
  /// Each new token as it is typed, as soon as it is there, with a space before it where one belongs.
  std::function<void(std::int64_t sample, std::string_view text)> on_text = {};
};

struct GeneratedText {
  std::string text;  ///< without the prompt
  std::vector<std::int64_t> tokens;
  double log_probability = 0.0;  ///< models::Generated
};

/// Texts are sampled as they are; of all else the most probable token is taken.
models::SamplingOptions usual_sampling(const tasks::Task& task);

/// What a stored model says next: models::generate. An encoder-decoder reads the prompt as its source and
/// answers from the start token on.  `model` is a checkpoint's model.safetensors.
/// @throws ConfigError for a model that generates nothing and for more new tokens than an answer has,
/// DataError for a prompt that the task cannot read.
std::vector<GeneratedText> generate_text(const RunConfig& config, const tasks::Task& task,
                                         std::string_view model, const TextRequest& request);

}  // namespace headtorch::train
