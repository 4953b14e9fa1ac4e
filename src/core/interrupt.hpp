#pragma once

#include "src/core/error.hpp"

namespace headtorch {

/// Catches SIGINT and SIGTERM: the first asks the running work to stop after its step and save, a second one
/// ends the process at once.
void catch_interrupts();

/// The signal received, or 0. Work in loops asks between steps.
int interrupt_signal();

/// What a program that stops for this signal ends with: kTerminated for SIGTERM, else kInterrupted.
ExitCode exit_code_of(int signal);

}  // namespace headtorch
