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
    : folder_(std::move(run)), is_new_(!folder_ && !out.empty()) {
  if (is_new_) folder_ = store::RunFolder::create(task, out, store::Occupied::kRefuse);
}

ComparisonFiles::~ComparisonFiles() {
  std::error_code not_empty;
  if (is_new_) fs::remove(folder_->path(), not_empty);
}

std::string ComparisonFiles::write(const nlohmann::ordered_json& document,
                                   const train::Comparison& comparison, const std::string& title) const {
  if (!folder_) return {};
  report::ComparisonFigure figure{.title = title, .verdict = comparison.verdict.verdict};
  for (const auto& [format, name] :
       {std::pair{report::Format::kPng, "compare.png"}, std::pair{report::Format::kSvg, "compare.svg"}}) {
    figure.format = format;
    folder_->write(name, report::draw_comparison(comparison.rows, comparison.metric, figure));
  }
  std::string pictures = "compare.png, compare.svg";
  if (!comparison.sizes.empty()) {
    report::LearningCurveFigure curve{title, comparison.overtaking, report::Format::kPng};
    for (const auto& [format, name] :
         {std::pair{report::Format::kPng, "sizes.png"}, std::pair{report::Format::kSvg, "sizes.svg"}}) {
      curve.format = format;
      folder_->write(name, report::draw_learning_curve(comparison.sizes, comparison.metric, curve));
    }
    pictures += ", sizes.png, sizes.svg";
  }
  const std::string name = is_new_ ? "result.json" : "compare.json";
  folder_->write(name, document_text(document));
  return fmt::format("Written: {} ({}, {})\n", folder_->path().string(), name, pictures);
}

}  // namespace headtorch::cli
