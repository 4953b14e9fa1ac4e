#pragma once

#include <string>
#include <string_view>

namespace headtorch::tasks {

/// Code points of a UTF-8 text; a byte-order mark at its start is dropped, CR LF is read as LF.
/// @throws DataError naming `where` and the offset of the first byte that is not UTF-8.
std::u32string decode_text(std::string_view bytes, std::string_view where);

/// UTF-8 of code points that decode_text gave.
std::string encode_text(std::u32string_view text);

/// A character as a person reads it: itself, a visible sign for space, line break and tab, or U+XXXX for one
/// that cannot be seen or would turn the text around it (control, formatting, combining and other white-space
/// characters).
std::string visible_character(char32_t character);

/// `U+0020`.
std::string code_point_name(char32_t character);

}  // namespace headtorch::tasks
