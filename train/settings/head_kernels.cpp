#include "train/settings/head_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/core/error.hpp"
#include "src/core/head_place.hpp"
#include "train/settings/number.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kMostIndex = 1'000'000;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// The digits that `text` starts with, taken off it.
std::optional<std::int64_t> take_index(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || text.starts_with('-') || value > kMostIndex) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// "L0H1" (of an encoder-decoder: "E0H1", "D0H1", "C0H1") taken off the front of an element; what stays is
/// the kernel.
std::optional<nn::HeadKernelPlace> take_place(std::string_view& text) {
  constexpr std::string_view kStacks = "LEDC";
  nn::HeadKernelPlace place;
  text = trimmed(text);
  const std::size_t stack = text.empty() ? std::string_view::npos : kStacks.find(text.front());
  if (stack == std::string_view::npos) return std::nullopt;
  place.stack = static_cast<Stack>(stack);
  for (const auto& [letter, index] : {std::pair(text.front(), &place.layer), std::pair('H', &place.head)}) {
    if (!text.starts_with(letter)) return std::nullopt;
    text.remove_prefix(1);
    const std::optional<std::int64_t> value = take_index(text);
    if (!value) return std::nullopt;
    *index = *value;
  }
  if (!text.starts_with(' ')) return std::nullopt;
  text = trimmed(text);
  return place;
}

/// The message of an error without the place that it starts with.
std::string_view message_of(const Error& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string_view::npos ? text : text.substr(end + 2);
}

}  // namespace

bool reads_as_head_kernel(std::string_view text) {
  if (!take_place(text)) return false;
  // The numbers are set to one that every field allows: what is then refused is the form.
  std::string form;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find(' ', start), text.size());
    const std::string_view word = text.substr(start, stop - start);
    form += parse_real(word).fault == NumberFault::kUnreadable ? std::string(word) : "1";
    form += ' ';
    start = stop + 1;
  }
  try {
    parse_kernel(form);
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

std::string head_kernel_fault(std::string_view text) {
  try {
    parse_head_kernel(text);
  } catch (const ConfigError& error) {
    return std::string(message_of(error));
  }
  return {};
}

nn::HeadKernelPlace parse_head_kernel(std::string_view text) {
  std::string_view kernel = text;
  std::optional<nn::HeadKernelPlace> place = take_place(kernel);
  if (!place)
    throw ConfigError("head_kernels", fmt::format("'{}' does not start with a head such as L0H1", text));
  place->kernel = parse_kernel(kernel);
  return *place;
}

std::string head_kernel_text(const nn::HeadKernelPlace& place) {
  return head_name({place.layer, place.head, place.stack}) + " " + kernel_text(place.kernel);
}

}  // namespace headtorch::train
