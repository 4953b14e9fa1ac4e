#include "src/cli/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/core/error.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kUsualColumns = 80;
constexpr std::int64_t kFewestColumns = 20;

std::string& name() {
  static std::string command = "headtorch";
  return command;
}

}  // namespace

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw InputOutputError("standard output", std::string("cannot be written: ") + std::strerror(errno));
  }
}

std::string document_text(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_json(const nlohmann::ordered_json& document) { print(document_text(document)); }

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }
bool errors_are_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::int64_t terminal_columns() {
  winsize size{};
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col >= kFewestColumns) return size.ws_col;
  }
  return kUsualColumns;
}

report::TerminalColour terminal_colour() {
  const char* support = std::getenv("COLORTERM");
  const char* refused = std::getenv("NO_COLOR");
  const std::string_view kind = support ? support : "";
  const bool coloured =
      (kind == "truecolor" || kind == "24bit") && !(refused && *refused) && output_is_terminal();
  return coloured ? report::TerminalColour::kTrueColour : report::TerminalColour::kPlain;
}

void set_command_name(std::string_view command) { name() = command; }
std::string_view command_name() { return name(); }

}  // namespace headtorch::cli
