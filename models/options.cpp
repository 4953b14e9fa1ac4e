#include "models/options.hpp"

#include <fmt/format.h>

#include "src/core/error.hpp"

namespace headtorch::models {
namespace {

constexpr Stack kStacks[] = {Stack::kEncoder, Stack::kDecoder, Stack::kCross};

}  // namespace

std::int64_t n_attention_places(const ModelOptions& options) {
  return options.family == Family::kEncoderDecoder ? std::ssize(kStacks) * options.n_layers
                                                   : options.n_layers;
}

AttentionPlace attention_place(const ModelOptions& options, std::int64_t place) {
  if (options.family != Family::kEncoderDecoder) return {Stack::kSelf, place};
  return {kStacks[place / options.n_layers], place % options.n_layers};
}

std::int64_t place_index(const ModelOptions& options, Stack stack, std::int64_t layer) {
  const std::int64_t places = n_attention_places(options);
  for (std::int64_t place = 0; place < places; ++place) {
    const AttentionPlace here = attention_place(options, place);
    if (here.stack == stack && here.layer == layer) return place;
  }
  throw ConfigError("model", fmt::format("has no layer {} of stack {}, expected one of its {} layers", layer,
                                         stack_name(stack), options.n_layers));
}

}  // namespace headtorch::models
