#include "src/core/error.hpp"

#include <fmt/format.h>

namespace headtorch {

Error::Error(ExitCode code, std::string_view where, std::string_view what)
    : std::runtime_error(fmt::format("[{}] {}", one_line(where), one_line(what))), code_(code) {}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace headtorch
