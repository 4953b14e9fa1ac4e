#include "src/core/head_place.hpp"

#include <fmt/format.h>

#include <array>

namespace headtorch {

std::string_view stack_name(Stack stack) {
  constexpr std::array<std::string_view, 4> kNames{"self", "encoder", "decoder", "cross"};
  return kNames[static_cast<std::size_t>(stack)];
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

std::string head_name(const HeadPlace& place) {
  constexpr std::string_view kLetters = "LEDC";
  return fmt::format("{}{}H{}", kLetters[static_cast<std::size_t>(place.stack)], place.layer, place.head);
}

}  // namespace headtorch
