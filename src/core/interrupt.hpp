#pragma once

namespace headtorch {

/// Catches SIGINT and SIGTERM: the first asks the running work to stop after its step and save, a second one
/// ends the process at once.
void catch_interrupts();

/// The signal received, or 0. Work in loops asks between steps.
int interrupt_signal();

}  // namespace headtorch
