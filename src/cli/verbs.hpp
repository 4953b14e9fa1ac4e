#pragma once

#include <functional>

#include "src/core/error.hpp"

namespace CLI {
class App;
}

namespace headtorch::cli {

/// What the chosen verb does once all flags are read.
using Action = std::function<ExitCode()>;

// Each declares one verb with its flags, and sets `action` when that verb is called.

void add_train(CLI::App& program, Action& action);
void add_heatmap(CLI::App& program, Action& action);
void add_heads(CLI::App& program, Action& action);
void add_diagnose(CLI::App& program, Action& action);
void add_ablate(CLI::App& program, Action& action);
void add_generate(CLI::App& program, Action& action);
void add_compare(CLI::App& program, Action& action);
void add_baseline(CLI::App& program, Action& action);
void add_regress(CLI::App& program, Action& action);
void add_predict(CLI::App& program, Action& action);
void add_scale(CLI::App& program, Action& action);
void add_tour(CLI::App& program, Action& action);
void add_tasks(CLI::App& program, Action& action);
void add_presets(CLI::App& program, Action& action);

}  // namespace headtorch::cli
