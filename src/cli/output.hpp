#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "src/report/terminal.hpp"

namespace headtorch::cli {

enum class Output { kText, kJson };

/// Writes to standard output and flushes.  @throws InputOutputError when it cannot be written.
void print(std::string_view text);
/// A document as text, indented, with a newline at its end; what is not UTF-8 becomes U+FFFD.
std::string document_text(const nlohmann::ordered_json& document);
/// One document on standard output.
void print_json(const nlohmann::ordered_json& document);

/// What can be shown to a person: nothing when standard output is no terminal.
bool output_is_terminal();
bool errors_are_terminal();
/// Width of the terminal; 80 when unknown.
std::int64_t terminal_columns();
/// Truecolor when the terminal says so (COLORTERM) and NO_COLOR is not set.
report::TerminalColour terminal_colour();

/// How the program was called, so that a command in a message can be copied: "./headtorch", "headtorch".
void set_command_name(std::string_view name);
std::string_view command_name();

}  // namespace headtorch::cli
