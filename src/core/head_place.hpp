#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headtorch {

/// Which attention of a model: all of it (kSelf), or, in an encoder-decoder, that of the encoder, that of the
/// decoder to itself, or that of the decoder (queries) to the encoder's output (keys).
enum class Stack { kSelf, kEncoder, kDecoder, kCross };

/// Whether its queries, and its keys, are positions of the source; else of the (only, or target) sequence.
constexpr bool queries_are_source(Stack stack) { return stack == Stack::kEncoder; }
constexpr bool keys_are_source(Stack stack) { return stack == Stack::kEncoder || stack == Stack::kCross; }
/// Whether it is part of a decoder beside an encoder.
constexpr bool is_decoders(Stack stack) { return stack == Stack::kDecoder || stack == Stack::kCross; }

/// "self", "encoder", "decoder", "cross".
std::string_view stack_name(Stack stack);
/// None for any other text.
std::optional<Stack> parse_stack(std::string_view name);

/// One head of a model; layers and heads count from 0 within their stack, from the input upwards.
struct HeadPlace {
  std::int64_t layer = 0, head = 0;
  Stack stack = Stack::kSelf;
  auto operator<=>(const HeadPlace&) const = default;
};

/// "layer-0"; in an encoder-decoder "encoder-layer-0", "cross-layer-0": how names of files about a layer
/// begin.
std::string layer_file_name(Stack stack, std::int64_t layer);
/// "layer 0"; in an encoder-decoder "encoder layer 0", "cross-attention layer 0".
std::string layer_title(Stack stack, std::int64_t layer);

/// "L0"; in an encoder-decoder "E0", "D0" or "C0".
std::string layer_name(Stack stack, std::int64_t layer);
/// "L0H1"; in an encoder-decoder "E0H1", "D0H1" or "C0H1".
std::string head_name(const HeadPlace& place);

}  // namespace headtorch
