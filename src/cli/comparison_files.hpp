#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "src/cli/new_folder.hpp"
#include "src/cli/run_flags.hpp"
#include "src/store/run_folder.hpp"
#include "train/comparison.hpp"

namespace headtorch::cli {

/// The run that stands in place of the task: its configuration becomes that of the flags. Nothing when a task
/// is named.
/// @throws UsageError when a config file is given beside it, InputMissing for a folder that is no run.
std::optional<store::RunFolder> run_meant(RunFlags& flags);

/// Where the document and the figure of a comparison go: into a run as compare.json, into a new folder as
/// result.json, or nowhere. A new folder is made at once, so that a bad place is refused before the work, and
/// goes away when the work fails.
class ComparisonFiles {
 public:
  /// @param out empty: no new folder.  @throws CannotCreate.
  ComparisonFiles(std::optional<store::RunFolder> run, const std::string& out, const std::string& task);

  /// @param title of the figure.  @returns a line that says what was written; empty when nothing was.
  std::string write(const nlohmann::ordered_json& document, const train::Comparison& comparison,
                    const std::string& title);

 private:
  std::optional<store::RunFolder> run_;
  std::optional<NewFolder> new_;
};

}  // namespace headtorch::cli
