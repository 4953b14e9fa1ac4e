#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "src/cli/output.hpp"
#include "src/cli/verbs.hpp"
#include "src/report/table.hpp"
#include "train/settings/config.hpp"

namespace headtorch::cli {
namespace {

struct PresetFlags {
  std::string name;
  bool json = false;
};

/// A preset opens with a comment that says what it is; its first sentence.
std::string summary_of(std::string_view toml) {
  constexpr std::string_view kComment = "# ";
  std::string text;
  while (toml.starts_with(kComment)) {
    const std::string_view line = toml.substr(0, toml.find('\n'));
    text += fmt::format("{}{}", text.empty() ? "" : " ", line.substr(kComment.size()));
    toml.remove_prefix(std::min(line.size() + 1, toml.size()));
  }
  return text.substr(0, text.find(". "));
}

ExitCode show_preset(const PresetFlags& flags) {
  const std::string_view toml = train::preset_text(flags.name);
  if (flags.json) {
    print_json(nlohmann::ordered_json{{"name", flags.name}, {"toml", toml}});
  } else {
    print(toml);
  }
  return ExitCode::kDone;
}

ExitCode list_presets(const PresetFlags& flags) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  report::Table table;
  table.headers = {"preset", "what it is"};
  table.align = {report::Align::kLeft, report::Align::kLeft};
  for (const std::string& name : train::preset_names()) {
    const std::string summary = summary_of(train::preset_text(name));
    list.push_back({{"name", name}, {"summary", summary}, {"toml", train::preset_text(name)}});
    table.rows.push_back({name, summary});
  }
  if (flags.json) {
    print_json(nlohmann::ordered_json{{"presets", list}});
  } else {
    print(report::to_text(table));
    print(fmt::format("\nA preset named like a task is that task's default.\nNext: {} presets reverse\n",
                      command_name()));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_presets(CLI::App& program, Action& action) {
  auto flags = std::make_shared<PresetFlags>();
  CLI::App* verb = program.add_subcommand("presets", "Built-in settings, as TOML that --config reads too");
  verb->add_option("NAME", flags->name, "Print this one")->type_name("");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(fmt::format("Examples:\n  {0} presets\n  {0} presets text-small > mine.toml", command_name()));
  verb->callback([flags, &action] {
    action = [flags] { return flags->name.empty() ? list_presets(*flags) : show_preset(*flags); };
  });
}

}  // namespace headtorch::cli
