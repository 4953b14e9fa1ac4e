#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "src/cli/diagnosis_document.hpp"
#include "src/cli/output.hpp"
#include "src/cli/run_signs.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "train/head_study.hpp"
#include "train/leak.hpp"

namespace headtorch::cli {
namespace {

struct DiagnoseFlags {
  std::string run, step;
  bool leak = false, json = false;
};

/// A run that lies where nothing can be written is diagnosed all the same.
void keep(const store::RunFolder& folder, const nlohmann::ordered_json& document) {
  try {
    folder.write("diagnosis.json", document_text(document));
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
}

ExitCode probe_for_leaks(const DiagnoseFlags& flags, const StoredRun& run) {
  const train::LeakReport report =
      train::find_leaks(run.config, *run.task, run.model, train::LeakDepth::kThorough);
  const std::string name = run.folder.path().string();
  if (flags.json) {
    print_json(leak_document(name, run.step, report));
  } else {
    print(leak_text(report));
  }
  return report.leaks() || !report.finite ? ExitCode::kCheckFailed : ExitCode::kDone;
}

ExitCode diagnose_run(const DiagnoseFlags& flags) {
  const StoredRun run = load_run(flags.run, flags.step);
  if (flags.leak) return probe_for_leaks(flags, run);
  probe::Signs signs = signs_of(run);
  if (signs.non_finite_at.empty()) {
    signs.heads = train::study_heads(run.config, *run.task, run.model, run.step).heads;
  }
  const probe::Diagnosis diagnosis = probe::diagnose(signs);
  const std::string name = run.folder.path().string();
  const nlohmann::ordered_json document = diagnosis_document(name, run.step, signs, diagnosis);
  keep(run.folder, document);
  if (flags.json) {
    print_json(document);
  } else {
    print(diagnosis_text(signs, diagnosis));
    print(fmt::format("\nWritten: {}/diagnosis.json\nNext: {} heads {}\n", name, command_name(), flags.run));
  }
  return diagnosis.failed ? ExitCode::kCheckFailed : ExitCode::kDone;
}

}  // namespace

void add_diagnose(CLI::App& program, Action& action) {
  auto flags = std::make_shared<DiagnoseFlags>();
  CLI::App* verb =
      program.add_subcommand("diagnose", "Say what is wrong with a trained run, and what to try");
  verb->add_option("RUN", flags->run, "Folder of a run, or its name under runs/")->required()->type_name("");
  verb->add_option("--step", flags->step, "The model after which training step (the last)")->type_name("S");
  verb->add_flag("--leak", flags->leak,
                 "Only: does any position know of later tokens? Exit code 2 when it does");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Examples:\n  {0} diagnose runs/reverse-001\n  {0} diagnose induction-001 --leak",
                           command_name()));
  verb->callback([flags, &action] { action = [flags] { return diagnose_run(*flags); }; });
}

}  // namespace headtorch::cli
