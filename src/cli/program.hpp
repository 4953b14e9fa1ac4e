#pragma once

namespace headtorch::cli {

/// The command line, from arguments to exit code. An error is one line on standard error, `[where] what,
/// expected what`; standard output is then left empty.
int run_program(int argc, char** argv);

}  // namespace headtorch::cli
