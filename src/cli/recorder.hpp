#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/event_log.hpp"
#include "src/cli/progress.hpp"
#include "src/core/attention_maps.hpp"
#include "src/store/run_folder.hpp"
#include "train/head_study.hpp"
#include "train/run.hpp"

namespace headtorch::cli {

/// Turns what a training tells into a run folder, which is created when the training first tells something: a
/// call that is refused leaves nothing behind.
class Recorder {
 public:
  struct Place {
    std::filesystem::path out;  ///< empty: runs/TASK-NNN
    store::Occupied occupied = store::Occupied::kRefuse;
  };
  Recorder(train::RunConfig config, Place place, Progress& progress);

  train::RunObserver observer();
  const store::RunFolder& folder();
  /// The weights told last; no layers when none were.
  const AttentionMaps& attention() const { return attention_; }
  /// What was said of the heads last; no heads when nothing was.
  train::HeadStudy study() const { return studies_.empty() ? train::HeadStudy{} : studies_.back(); }
  /// Draws the last weights into heatmaps/, and heads/history.png when heads were looked at more than once.
  void draw();

 private:
  EventLog& events();
  void add_line(const std::string& json);
  /// Pictures of the last weights, in a folder of the run and for TensorBoard.
  void draw_into(const std::filesystem::path& place);

  train::RunConfig config_;
  Place place_;
  Progress& progress_;
  std::optional<store::RunFolder> folder_;
  std::optional<EventLog> events_;
  AttentionMaps attention_;
  std::vector<double> loss_;  // of each step
  std::vector<train::HeadStudy> studies_;
  std::int64_t pictured_step_ = -1;
};

}  // namespace headtorch::cli
