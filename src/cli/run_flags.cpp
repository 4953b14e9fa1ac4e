#include "src/cli/run_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "src/core/error.hpp"
#include "src/core/file.hpp"

namespace headtorch::cli {
namespace {

constexpr std::string_view kTaskName = "name";

std::string flag_of(const train::Setting& setting) {
  std::string flag = "--" + setting.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string group_of(std::string_view section) {
  if (section == "task") return "Task";
  return section == "model" ? "Model" : "Training";
}

/// A configuration document and the name under which its errors are shown.
struct Source {
  std::string text, name;
};

/// The task that a document names; empty when none.
std::string task_named_in(const Source& source) {
  train::RunConfig config;
  read_toml(source.text, source.name, config);
  return config.task.name;
}

std::vector<Source> sources_of(const RunFlags& flags) {
  std::vector<Source> sources;
  if (!flags.preset.empty()) {
    sources.push_back(
        {std::string(train::preset_text(flags.preset)), fmt::format("preset {}", flags.preset)});
  }
  if (!flags.config_file.empty()) sources.push_back({read_file(flags.config_file), flags.config_file});
  return sources;
}

std::string task_of(const RunFlags& flags, const std::vector<Source>& sources) {
  std::string task = flags.task, where = "the argument";
  for (const Source& source : sources) {
    const std::string named = task_named_in(source);
    if (named.empty()) continue;
    if (!task.empty() && task != named) {
      throw ConfigError(source.name, fmt::format("is for task {}, but {} names {}", named, where, task));
    }
    task = named;
    where = source.name;
  }
  if (!task.empty()) return task;
  std::string known;
  for (const auto& one : tasks::describe_tasks()) known += (known.empty() ? "" : ", ") + one.name;
  throw UsageError("task", fmt::format("is missing, expected one of {}", known));
}

}  // namespace

void add_setting_flags(CLI::App& verb, RunFlags& flags, const Wanted& wanted) {
  for (const train::Setting& setting : train::settings()) {
    if (setting.name == kTaskName || !wanted(setting)) continue;
    std::string& text = flags.texts[setting.name];
    CLI::Option* option = nullptr;
    if (setting.is_switch) {
      option = verb.add_flag(flag_of(setting), text, setting.help);
    } else {
      option = verb.add_option(flag_of(setting), text, fmt::format("{}; {}", setting.help, setting.allowed))
                   ->type_name("X");
    }
    flags.options[setting.name] = option->group(group_of(setting.section));
  }
}

void add_file_flags(CLI::App& verb, RunFlags& flags) {
  verb.add_option("--config", flags.config_file, "TOML file with [task], [model], [train]")
      ->type_name("FILE");
  verb.add_option("--preset", flags.preset, "Built-in settings, see `presets`")->type_name("NAME");
}

void add_source_flags(CLI::App& verb, RunFlags& flags) {
  verb.add_option("TASK", flags.task, "What to learn, see `tasks`; may be left out when a config names it")
      ->type_name("");
  add_file_flags(verb, flags);
}

train::RunConfig resolve(const RunFlags& flags, const Adjust& adjust) {
  const std::vector<Source> sources = sources_of(flags);
  const std::string task = task_of(flags, sources);
  train::RunConfig config = train::default_config(task);
  if (adjust) adjust(config);
  for (const Source& source : sources) read_toml(source.text, source.name, config);
  for (const train::Setting& setting : train::settings()) {
    const auto option = flags.options.find(setting.name);
    if (option == flags.options.end() || option->second->count() == 0) continue;
    train::set_flag(setting.name, flags.texts.at(setting.name), config);
  }
  return config;
}

}  // namespace headtorch::cli
