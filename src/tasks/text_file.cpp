#include "src/tasks/text_file.hpp"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "src/core/error.hpp"

namespace headtorch::tasks {
namespace {

struct Range {
  char32_t first, last;
};

// Characters without a shape of their own: controls, white space, format and direction marks, combining
// marks, surrogates' neighbours in private use and tags.
constexpr Range kInvisible[] = {
    {0x00, 0x1f},     {0x7f, 0xa0},        {0xad, 0xad},     {0x300, 0x36f},   {0x483, 0x489},
    {0x591, 0x5bd},   {0x600, 0x605},      {0x610, 0x61a},   {0x61c, 0x61c},   {0x64b, 0x65f},
    {0x6dd, 0x6dd},   {0x70f, 0x70f},      {0x115f, 0x1160}, {0x1680, 0x1680}, {0x17b4, 0x17b5},
    {0x180b, 0x180e}, {0x1ab0, 0x1aff},    {0x1dc0, 0x1dff}, {0x2000, 0x200f}, {0x2028, 0x202f},
    {0x205f, 0x206f}, {0x20d0, 0x20ff},    {0x3000, 0x3000}, {0x3099, 0x309a}, {0x3164, 0x3164},
    {0xe000, 0xf8ff}, {0xfe00, 0xfe0f},    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
    {0xfffe, 0xffff}, {0xe0000, 0x10ffff},
};

}  // namespace

std::u32string decode_text(std::string_view bytes, std::string_view where) {
  const auto broken = utf8::find_invalid(bytes.begin(), bytes.end());
  if (broken != bytes.end()) {
    throw DataError(where, fmt::format("byte {} (0x{:02x}) is not UTF-8: expected a text in UTF-8",
                                       broken - bytes.begin(), static_cast<unsigned char>(*broken)));
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  std::u32string text;
  text.reserve(bytes.size());
  utf8::unchecked::utf8to32(bytes.begin(), bytes.end(), std::back_inserter(text));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U'\r' && i + 1 < text.size() && text[i + 1] == U'\n') continue;
    text[kept++] = text[i];
  }
  text.resize(kept);
  return text;
}

std::string encode_text(std::u32string_view text) {
  std::string bytes;
  utf8::unchecked::utf32to8(text.begin(), text.end(), std::back_inserter(bytes));
  return bytes;
}

std::string visible_character(char32_t character) {
  switch (character) {
    case U' ':
      return "\u2423";
    case U'\n':
      return "\u23ce";
    case U'\t':
      return "\u21e5";
    default:
      break;
  }
  const auto hides = [&](const Range& range) { return character >= range.first && character <= range.last; };
  if (std::any_of(std::begin(kInvisible), std::end(kInvisible), hides)) return code_point_name(character);
  return encode_text({&character, 1});
}

std::string code_point_name(char32_t character) {
  return fmt::format("U+{:04X}", static_cast<std::uint32_t>(character));
}

}  // namespace headtorch::tasks
