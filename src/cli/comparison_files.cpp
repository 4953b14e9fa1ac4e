#include "src/cli/comparison_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/cli/output.hpp"
#include "src/cli/stored_run.hpp"
#include "src/core/error.hpp"
#include "src/report/figures.hpp"
#include "src/report/learning_curve_figure.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

bool is_task(std::string_view name) {
  const auto tasks = tasks::describe_tasks();
  return std::any_of(tasks.begin(), tasks.end(), [&](const auto& task) { return task.name == name; });
}

}  // namespace

std::optional<store::RunFolder> run_meant(RunFlags& flags) {
  std::error_code absent;
  if (flags.task.empty() || is_task(flags.task)) return std::nullopt;
  if (!fs::is_directory(flags.task, absent) && !fs::is_directory(fs::path("runs") / flags.task, absent))
    return std::nullopt;
  store::RunFolder run = open_run(flags.task);
  if (!flags.config_file.empty()) {
    throw UsageError("--config",
                     fmt::format("is given beside the run {}, expected one of both", one_line(flags.task)));
  }
  flags.config_file = (run.path() / "config.toml").string();
  flags.task.clear();
  return run;
}

ComparisonFiles::ComparisonFiles(std::optional<store::RunFolder> run, const std::string& out,
                                 const std::string& task)
    : run_(std::move(run)) {
  if (!run_ && !out.empty()) new_.emplace(task, out);
}

std::string ComparisonFiles::write(const nlohmann::ordered_json& document,
                                   const train::Comparison& comparison, const std::string& title) {
  if (!run_ && !new_) return {};
  const auto put = [&](const std::string& file, const std::string& bytes) {
    new_ ? new_->write(file, bytes) : run_->write(file, bytes);
  };
  report::ComparisonFigure figure{.title = title, .verdict = comparison.verdict.verdict};
  for (const auto& [format, name] :
       {std::pair{report::Format::kPng, "compare.png"}, std::pair{report::Format::kSvg, "compare.svg"}}) {
    figure.format = format;
    put(name, report::draw_comparison(comparison.rows, comparison.metric, figure));
  }
  std::string pictures = "compare.png, compare.svg";
  if (!comparison.sizes.empty()) {
    report::LearningCurveFigure curve{title, comparison.overtaking, report::Format::kPng};
    for (const auto& [format, name] :
         {std::pair{report::Format::kPng, "sizes.png"}, std::pair{report::Format::kSvg, "sizes.svg"}}) {
      curve.format = format;
      put(name, report::draw_learning_curve(comparison.sizes, comparison.metric, curve));
    }
    pictures += ", sizes.png, sizes.svg";
  }
  const std::string name = new_ ? "result.json" : "compare.json";
  put(name, document_text(document));
  return fmt::format("Written: {} ({}, {})\n", (new_ ? new_->path() : run_->path()).string(), name, pictures);
}

}  // namespace headtorch::cli
