#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/mini_transformer.hpp"
#include "models/sampling.hpp"

namespace headtorch::models {

/// Whether keys and values of earlier tokens are kept, or all is computed again for each token: the
/// reference.
enum class Caching { kKeyValues, kNone };

struct GenerationRequest {
  /// At least one token each, of any lengths; of an encoder-decoder the target so far: its start token.
  std::vector<std::vector<std::int64_t>> prompts;
  std::int64_t max_new_tokens = 1;
  SamplingOptions sampling = {};
  std::uint64_t seed = 1;  ///< example b draws from stream b, whatever else is in the batch
  std::optional<std::int64_t> stop_token = {};  ///< an example ends behind it
  Sequence source = {};  ///< of an encoder-decoder, one an example, on the model's device
  Caching caching = Caching::kKeyValues;
  std::function<void(std::int64_t example, std::int64_t token)> on_token = {};  ///< each new token, at once
};

struct Generated {
  std::vector<std::int64_t> tokens;  ///< without the prompt
  double log_probability = 0.0;      ///< of them, as the model has it: nothing cut, temperature 1; nats
};

/// Continues each prompt by a token at a time, in evaluation mode. No padding: examples are read side by side
/// from their first tokens on, and a longer prompt gives the next token itself, so that every example has the
/// positions it would have alone. Behind the context (ModelSizes::max_len) the window slides: a token is that
/// of a forward pass over the max_len tokens before it, whose positions count from 0. What is then cached is
/// computed again, as each position has changed; keys of the source are computed once.
/// Ends early, with what there is, when interrupt_signal() is set.
/// @throws ConfigError for a model that is an encoder, in training mode, reads features, or tells apart more
/// classes than it reads symbols, and for options out of range; DataError for a prompt that is empty or holds
/// an unknown token; ShapeError unless there is a source for each prompt exactly when the model reads one.
std::vector<Generated> generate(MiniTransformer model, const GenerationRequest& request);

}  // namespace headtorch::models
