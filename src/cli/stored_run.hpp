#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/store/run_folder.hpp"
#include "src/tasks/task.hpp"
#include "train/settings/config.hpp"

namespace headtorch::cli {

/// A path, or the bare name of a run under runs/.  @throws InputMissing unless it holds a config.toml.
store::RunFolder open_run(const std::string& name);

/// The step that --step asks for, or the last of `steps` when `text` is empty.
/// @throws InputMissing when there are none, ConfigError naming those there are.
std::int64_t step_of(const std::string& text, const std::vector<std::int64_t>& steps,
                     const store::RunFolder& run, std::string_view what);

/// A finished training, read back: all that is needed to run its model again.
struct StoredRun {
  store::RunFolder folder;
  train::RunConfig config = {};
  std::unique_ptr<tasks::Task> task = {};
  std::int64_t step = 0;
  std::string model = {};  ///< bytes of model.safetensors at that step
};
/// @throws what open_run, step_of, reading the configuration and making the task throw.
StoredRun load_run(const std::string& name, const std::string& step);

/// config.toml of a run, checked.
train::RunConfig read_config(const store::RunFolder& run);

}  // namespace headtorch::cli
