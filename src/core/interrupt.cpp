#include "src/core/interrupt.hpp"

#include <csignal>

namespace headtorch {
namespace {

volatile std::sig_atomic_t received = 0;

void remember(int signal) {
  received = signal;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupt_signal() { return static_cast<int>(received); }

ExitCode exit_code_of(int signal) {
  return signal == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted;
}

}  // namespace headtorch
