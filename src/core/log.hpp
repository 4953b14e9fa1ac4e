#pragma once

namespace headtorch {

enum class LogLevel { kQuiet, kNormal };

/// Sends spdlog to standard error, without time stamps; kQuiet keeps warnings and errors only. Standard
/// output is left to results.
void start_log(LogLevel level);

}  // namespace headtorch
