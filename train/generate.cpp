#include "train/generate.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>

#include "models/generation.hpp"
#include "src/core/error.hpp"
#include "train/record.hpp"

namespace headtorch::train {
namespace {

constexpr std::string_view kWhere = "generate";
constexpr std::int64_t kUsualOfText = 200;  // new characters

/// Texts go on for ever; other sequences end with the task's length.
bool is_endless(const tasks::Task& task) {
  return task.shape().reading == tasks::Reading::kLeftToRight &&
         task.spelling() == tasks::Spelling::kCharacters;
}

void check(const tasks::TaskShape& shape) {
  if (shape.reading == tasks::Reading::kWholeSequence) {
    throw ConfigError(kWhere,
                      fmt::format("the model is an encoder, which reads {} as a whole and predicts no next "
                                  "token: expected a run of family causal or encoder-decoder",
                                  shape.name));
  }
  if (shape.measure == tasks::Measure::kReal || shape.n_features > 0) {
    throw ConfigError(
        kWhere, fmt::format("{} is about numbers, expected a task whose answers are tokens", shape.name));
  }
  if (shape.source.seq_len > 0 && (shape.start < 0 || shape.source.n_features > 0)) {
    throw ConfigError(kWhere,
                      fmt::format("the source of {} cannot be typed, and its answer is no sequence: expected "
                                  "another task",
                                  shape.name));
  }
}

/// What the model reads first, and how much it may say.
struct Start {
  std::vector<std::int64_t> target;
  models::Sequence source = {};
  std::int64_t max_new_tokens = 0;
};

Start start_of(const tasks::Task& task, const TextRequest& request) {
  const tasks::TaskShape& shape = task.shape();
  Start start;
  if (shape.source.seq_len > 0) {
    start.target = {shape.start};
    const torch::Tensor source_T = torch::tensor(task.parse_source(request.prompt), torch::kLong);
    start.source.tokens = source_T.expand({request.samples, source_T.size(0)});
  } else {
    start.target = task.parse_tokens(request.prompt);
  }
  const std::int64_t rest = std::max<std::int64_t>(shape.seq_len + 1 - std::ssize(start.target), 1);
  start.max_new_tokens = request.max_new_tokens;
  if (start.max_new_tokens == 0) start.max_new_tokens = is_endless(task) ? kUsualOfText : rest;
  if (shape.source.seq_len > 0 && start.max_new_tokens > rest) {
    throw ConfigError("max_new", fmt::format("is {}, expected at most {}, the tokens of an answer of {}",
                                             start.max_new_tokens, rest, shape.name));
  }
  return start;
}

}  // namespace

models::SamplingOptions usual_sampling(const tasks::Task& task) {
  return {.temperature = is_endless(task) ? 1.0 : 0.0};
}

std::vector<GeneratedText> generate_text(const RunConfig& config, const tasks::Task& task,
                                         std::string_view bytes, const TextRequest& request) {
  check(task.shape());
  const Start start = start_of(task, request);
  models::MiniTransformer model = load_model(config, task, bytes);
  model->eval();

  models::GenerationRequest generation;
  generation.prompts.assign(static_cast<std::size_t>(request.samples), start.target);
  generation.max_new_tokens = start.max_new_tokens;
  generation.sampling = request.sampling;
  generation.seed = request.seed;
  generation.source = start.source;
  const bool continues = task.shape().source.seq_len == 0;
  const bool spaced = task.spelling() == tasks::Spelling::kWords;
  std::vector<bool> said(generation.prompts.size(), continues);
  if (request.on_text) {
    generation.on_token = [&](std::int64_t sample, std::int64_t token) {
      const auto at = static_cast<std::size_t>(sample);
      std::string text = task.typed_text(token);
      if (spaced && said[at]) text.insert(text.begin(), ' ');
      request.on_text(sample, text);
      said[at] = true;
    };
  }
  std::vector<GeneratedText> texts;
  for (models::Generated& one : models::generate(model, generation)) {
    texts.push_back({tasks::typed(task, one.tokens), one.tokens, one.log_probability});
  }
  return texts;
}

}  // namespace headtorch::train
