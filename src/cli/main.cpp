#include "src/cli/program.hpp"

int main(int argc, char** argv) { return headtorch::cli::run_program(argc, argv); }
