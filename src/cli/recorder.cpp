#include "src/cli/recorder.hpp"

#include <fmt/format.h>

#include <utility>

#include "src/cli/artifacts.hpp"
#include "src/cli/documents.hpp"
#include "src/cli/heads_document.hpp"
#include "src/cli/heads_history.hpp"
#include "src/cli/output.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr const char* kHeatmaps = "heatmaps";
constexpr const char* kHeadsOverSteps = "heads.jsonl";

/// `layer-L.png`: all heads of a layer in one picture.
bool is_picture_of_layer(const std::filesystem::path& name) {
  return name.extension() == ".png" && name.string().find("head") == std::string::npos;
}

}  // namespace

Recorder::Recorder(train::RunConfig config, Place place, Progress& progress)
    : config_(std::move(config)), place_(std::move(place)), progress_(progress) {}

const store::RunFolder& Recorder::folder() {
  if (!folder_) {
    folder_ = store::RunFolder::create(config_.task.name, place_.out, place_.occupied);
    const std::string config = train::to_toml(config_);
    folder_->write("config.toml", config);
    events_.emplace(*folder_, config);
  }
  return *folder_;
}

EventLog& Recorder::events() {
  folder();
  return *events_;
}

void Recorder::add_line(const std::string& json) { folder().append_metrics(json); }

void Recorder::draw_into(const std::filesystem::path& place) {
  std::map<std::string, std::string> pictures;
  write_artifacts(attention_, {}, [&](const std::filesystem::path& name, const std::string& bytes) {
    folder().write(place / name, bytes);
    if (is_picture_of_layer(name)) pictures[name.stem().string()] = bytes;
  });
  if (pictured_step_ != attention_.step) events().add(attention_.step, pictures);
  pictured_step_ = attention_.step;
}

train::RunObserver Recorder::observer() {
  train::RunObserver observer;
  observer.on_start = [this](std::string_view kernels, std::string_view why_not) {
    progress_.line(kernels.empty() ? fmt::format("trains through the torch::nn modules: {}", why_not)
                                   : fmt::format("trains through the engine, products by {}", kernels));
  };
  observer.on_step = [this](const train::StepMetrics& metrics) {
    add_line(metrics_line(metrics));
    events().add(metrics);
    loss_.push_back(metrics.loss);
    progress_.step(metrics);
  };
  observer.on_evaluation = [this](std::int64_t step, const train::Evaluation& evaluation,
                                  double wall_seconds) {
    add_line(evaluation_line(step, evaluation, wall_seconds));
    events().add(step, evaluation);
    const std::string share =
        evaluation.r2 ? "R2 " + report::readable(*evaluation.r2, 3)
                      : report::readable(100.0 * evaluation.token_accuracy) + " % of tokens right";
    progress_.line(fmt::format("validation after {}: loss {}, {}", report::counted(step, "step"),
                               report::readable(evaluation.loss, 3), share));
  };
  observer.on_attention = [this](const AttentionMaps& maps) {
    store_attention(folder(), maps);
    events().add(maps);
    attention_ = maps;
    if (config_.train.heatmap_every > 0)
      draw_into(std::filesystem::path(kHeatmaps) / store::step_name(maps.step));
  };
  observer.on_heads = [this](const train::HeadStudy& study) {
    const nlohmann::ordered_json document = study_document(folder().path().string(), study);
    folder().append(kHeadsOverSteps, document.dump() + "\n");
    folder().write("heads.json", document_text(document));
    studies_.push_back(study);
  };
  observer.on_checkpoint = [this](std::int64_t step, const std::map<std::string, std::string>& files) {
    folder().write_checkpoint(step, files);
    if (const auto model = files.find("model.safetensors"); model != files.end())
      events().add_parameters(step, model->second);
  };
  return observer;
}

void Recorder::draw() {
  if (!attention_.layers.empty()) draw_into(kHeatmaps);
  if (studies_.size() > 1) {
    folder().write(
        std::filesystem::path("heads") / "history.png",
        report::draw_history(heads_history(config_.task.name, loss_, studies_), report::Format::kPng));
  }
}

}  // namespace headtorch::cli
