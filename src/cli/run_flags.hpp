#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "train/settings/config.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace headtorch::cli {

/// TASK, --preset, --config and one flag for each setting, as texts.
struct RunFlags {
  std::string task, preset, config_file;
  std::map<std::string, std::string> texts;     ///< setting -> text; read only when its option was given
  std::map<std::string, CLI::Option*> options;  ///< setting -> option
};

using Wanted = std::function<bool(const train::Setting&)>;
/// Declares a flag for each setting wanted. `flags` must outlive the verb.
void add_setting_flags(CLI::App& verb, RunFlags& flags, const Wanted& wanted);
/// Declares --config and --preset.
void add_file_flags(CLI::App& verb, RunFlags& flags);
/// Declares TASK, --config and --preset.
void add_source_flags(CLI::App& verb, RunFlags& flags);

/// Changes a verb makes to a task's defaults, before preset, file and flags.
using Adjust = std::function<void(train::RunConfig&)>;

/// Default of the task, then preset, then file, then flags; not yet checked as a whole.
/// @throws UsageError when no task is named, ConfigError when two places name different ones, and what
/// reading throws.
train::RunConfig resolve(const RunFlags& flags, const Adjust& adjust = {});

}  // namespace headtorch::cli
