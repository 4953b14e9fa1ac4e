#include "src/cli/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "headtorch_version.hpp"
#include "src/cli/output.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/log.hpp"
#include "src/core/nearest.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr std::string_view kWhatItIs =
    "headtorch trains small Transformers, shows what each attention head looks at, and compares\n"
    "learned attention with fixed kernels.\n";

std::string introduction() {
  return fmt::format(
      "{}\nThree commands to try:\n"
      "  {} train reverse       train a model to reverse sequences, with heatmaps (seconds)\n"
      "  {} compare induction   can a fixed kernel do what attention learns? (minutes)\n"
      "  {} tasks               what else there is to learn\n\n"
      "{} --help lists everything.\n",
      kWhatItIs, command_name(), command_name(), command_name(), command_name());
}

std::string version() {
  return fmt::format("headtorch {} (built against LibTorch {}, {})", kVersion, kLibTorchVersion, kBuildType);
}

void refuse_unknown_verb(const CLI::App& program, std::string_view verb) {
  if (verb.empty() || verb.starts_with('-')) return;
  if (verb == "test") {
    throw UsageError("test",
                     "is done by the script ./headtorch of the source tree, which builds the tests first");
  }
  std::vector<std::string> known;
  for (const CLI::App* one : program.get_subcommands({})) known.push_back(one->get_name());
  if (std::find(known.begin(), known.end(), verb) != known.end()) return;
  throw UsageError("headtorch",
                   fmt::format("\"{}\" is no verb, expected one of {}", verb, fmt::join(known, ", ")));
}

std::vector<std::string> flags_of(const CLI::App& verb) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

/// About the first argument that nothing took.
UsageError unexpected_argument(const CLI::App& verb) {
  const std::vector<std::string> rest = verb.remaining();
  const auto flag =
      std::find_if(rest.begin(), rest.end(), [](const std::string& one) { return one.starts_with('-'); });
  if (flag == rest.end()) {
    return {verb.get_name(),
            fmt::format("\"{}\" is one argument too many", rest.empty() ? "" : rest.front())};
  }
  const std::string name = flag->substr(0, flag->find('='));
  std::string meant = nearest(name, flags_of(verb));
  if (meant.empty())
    meant = nearest(std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size())),
                    flags_of(verb));
  return {verb.get_name(),
          fmt::format("{} is no flag{}", name,
                      meant.empty() ? "; --help lists them" : ", did you mean " + meant + "?")};
}

/// What CLI11 found wrong, in our form.
UsageError usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const auto called = program.get_subcommands();
  const CLI::App& verb = called.empty() ? program : *called.back();
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) return unexpected_argument(verb);
  const std::string said = error.what(), about = said.substr(0, said.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && about.starts_with('-')) {
    const bool absent = said.find("missing") != std::string::npos;
    return {about, absent ? "has no value, expected one" : "is given more than once"};
  }
  return {called.empty() ? "headtorch" : verb.get_name(), said};
}

ExitCode parse_and_run(int argc, char** argv) {
  CLI::App program{std::string(kWhatItIs), std::string(command_name())};
  program.set_version_flag("--version", version(), "Version, and the LibTorch it was built against");
  program.require_subcommand(0, 1);
  program.get_formatter()->column_width(28);
  Action action;
  add_train(program, action);
  add_heatmap(program, action);
  add_heads(program, action);
  add_diagnose(program, action);
  add_ablate(program, action);
  add_generate(program, action);
  add_compare(program, action);
  add_baseline(program, action);
  add_regress(program, action);
  add_predict(program, action);
  add_scale(program, action);
  add_tour(program, action);
  add_tasks(program, action);
  add_presets(program, action);
  program.footer(fmt::format("{} VERB --help explains one verb. Example:\n  {} train reverse", command_name(),
                             command_name()));

  refuse_unknown_verb(program, argc > 1 ? argv[1] : "");
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(program.help());
    return ExitCode::kDone;
  } catch (const CLI::CallForVersion&) {
    print(version() + "\n");
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw usage_error(program, error);
  }
  if (action) return action();
  print(introduction());
  return ExitCode::kDone;
}

/// LibTorch reports a failed allocation by its own exception type, whose header the command line does not
/// know.
bool is_out_of_memory(std::string_view message) {
  return message.find("not enough memory") != std::string_view::npos ||
         message.find("out of memory") != std::string_view::npos;
}

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

ExitCode report_error(ExitCode code, const std::string& line) {
  fmt::print(stderr, "{}\n", report::visible(line));  // arguments and files may hold any bytes
  return code;
}

/// The error being handled, as one line and an exit code.
ExitCode explain_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return report_error(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report_error(
        ExitCode::kOutOfMemory,
        "[memory] is used up; a smaller --batch, --seq-len, --d-model or --n-layers needs less");
  } catch (const std::filesystem::filesystem_error& error) {
    return report_error(ExitCode::kInputOutput,
                        fmt::format("[{}] {}", error.path1().string(), error.code().message()));
  } catch (const std::exception& error) {
    const std::string line = one_line(first_line(error.what()));
    if (is_out_of_memory(line)) return report_error(ExitCode::kOutOfMemory, "[memory] " + line);
    return report_error(ExitCode::kInternal,
                        fmt::format("[internal] {}; this is a bug, please report it", line));
  } catch (...) {
    return report_error(ExitCode::kInternal, "[internal] an unknown error; this is a bug, please report it");
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  ExitCode code = ExitCode::kDone;
  try {
    if (argc > 0) set_command_name(argv[0]);
    start_log(LogLevel::kNormal);
    code = parse_and_run(argc, argv);
  } catch (...) {
    code = explain_current_exception();
  }
  return static_cast<int>(code);
}

}  // namespace headtorch::cli
