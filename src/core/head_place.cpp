#include "src/core/head_place.hpp"

#include <fmt/format.h>

#include <array>

namespace headtorch {
namespace {

constexpr std::array<std::string_view, 4> kNames{"self", "encoder", "decoder", "cross"};

}  // namespace

std::string_view stack_name(Stack stack) { return kNames[static_cast<std::size_t>(stack)]; }

std::optional<Stack> parse_stack(std::string_view name) {
  for (std::size_t stack = 0; stack < kNames.size(); ++stack) {
    if (kNames[stack] == name) return static_cast<Stack>(stack);
  }
  return std::nullopt;
}

std::string layer_file_name(Stack stack, std::int64_t layer) {
  const std::string name = fmt::format("layer-{}", layer);
  return stack == Stack::kSelf ? name : fmt::format("{}-{}", stack_name(stack), name);
}

std::string layer_title(Stack stack, std::int64_t layer) {
  const std::string name = fmt::format("layer {}", layer);
  return stack == Stack::kSelf    ? name
         : stack == Stack::kCross ? "cross-attention " + name
                                  : fmt::format("{} {}", stack_name(stack), name);
}

std::string layer_name(Stack stack, std::int64_t layer) {
  constexpr std::string_view kLetters = "LEDC";
  return fmt::format("{}{}", kLetters[static_cast<std::size_t>(stack)], layer);
}

std::string head_name(const HeadPlace& place) {
  return fmt::format("{}H{}", layer_name(place.stack, place.layer), place.head);
}

}  // namespace headtorch
