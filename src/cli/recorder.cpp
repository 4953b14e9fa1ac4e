#include "src/cli/recorder.hpp"

#include <fmt/format.h>

#include <utility>

#include "src/cli/artifacts.hpp"
#include "src/cli/documents.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr const char* kHeatmaps = "heatmaps";

FileSink into(const store::RunFolder& run, std::filesystem::path folder) {
  return [&run, folder = std::move(folder)](const std::filesystem::path& name, const std::string& bytes) {
    run.write(folder / name, bytes);
  };
}

}  // namespace

Recorder::Recorder(train::RunConfig config, Place place, Progress& progress)
    : config_(std::move(config)), place_(std::move(place)), progress_(progress) {}

const store::RunFolder& Recorder::folder() {
  if (!folder_) {
    folder_ = store::RunFolder::create(config_.task.name, place_.out, place_.occupied);
    folder_->write("config.toml", train::to_toml(config_));
  }
  return *folder_;
}

void Recorder::add_line(const std::string& json) { folder().append_metrics(json); }

train::RunObserver Recorder::observer() {
  train::RunObserver observer;
  observer.on_step = [this](const train::StepMetrics& metrics) {
    add_line(metrics_line(metrics));
    progress_.step(metrics);
  };
  observer.on_evaluation = [this](std::int64_t step, const train::Evaluation& evaluation,
                                  double wall_seconds) {
    add_line(evaluation_line(step, evaluation, wall_seconds));
    progress_.line(fmt::format("validation after {}: loss {}, {} % of tokens right",
                               report::counted(step, "step"), report::readable(evaluation.loss, 3),
                               report::readable(100.0 * evaluation.token_accuracy)));
  };
  observer.on_attention = [this](const AttentionMaps& maps) {
    store_attention(folder(), maps);
    if (config_.train.heatmap_every > 0) {
      write_artifacts(maps, {},
                      into(folder(), std::filesystem::path(kHeatmaps) / store::step_name(maps.step)));
    }
    attention_ = maps;
  };
  observer.on_checkpoint = [this](std::int64_t step, const std::map<std::string, std::string>& files) {
    folder().write_checkpoint(step, files);
  };
  return observer;
}

void Recorder::draw() {
  if (!attention_.layers.empty()) write_artifacts(attention_, {}, into(folder(), kHeatmaps));
}

}  // namespace headtorch::cli
