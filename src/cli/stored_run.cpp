#include "src/cli/stored_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "src/cli/numbers.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;

store::RunFolder open_run(const std::string& name) {
  std::error_code absent;
  const fs::path below_runs = fs::path("runs") / name;
  if (!fs::exists(name, absent) && fs::exists(below_runs, absent)) return store::RunFolder::open(below_runs);
  return store::RunFolder::open(name);
}

std::int64_t step_of(const std::string& text, const std::vector<std::int64_t>& steps,
                     const store::RunFolder& run, std::string_view what) {
  if (steps.empty()) {
    throw InputMissing(run.path().string(), fmt::format("holds no {}, expected a finished training", what));
  }
  if (text.empty()) return steps.back();
  const std::int64_t step = whole_number("--step", text, 0, steps.back());
  if (std::find(steps.begin(), steps.end(), step) != steps.end()) return step;
  throw ConfigError("--step",
                    fmt::format("{} has no {}, expected one of {}", step, what, fmt::join(steps, ", ")));
}

train::RunConfig read_config(const store::RunFolder& run) {
  const fs::path path = run.path() / "config.toml";
  train::RunConfig config;
  read_toml(read_file(path), path.string(), config);
  train::check(config);
  return config;
}

StoredRun load_run(const std::string& name, const std::string& step) {
  StoredRun run{.folder = open_run(name)};
  run.config = read_config(run.folder);
  run.task = train::make_task(run.config);
  run.step = step_of(step, run.folder.checkpoint_steps(), run.folder, "checkpoint");
  run.model = run.folder.read_checkpoint_file(run.step, "model.safetensors");
  return run;
}

}  // namespace headtorch::cli
