#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/report/tensorboard.hpp"
#include "src/store/run_folder.hpp"
#include "train/run.hpp"

namespace headtorch::cli {

/// A run's events.out.tfevents.* for TensorBoard (docs/run_folder.md). Each call adds one record in one
/// write, so a reader may follow, and what a killed run leaves can be read.
class EventLog {
 public:
  /// Starts the file with `config`, the text of config.toml.  @param run must outlive this object.
  EventLog(const store::RunFolder& run, const std::string& config);

  void add(const train::StepMetrics& metrics);
  void add(std::int64_t step, const train::Evaluation& validation);
  /// Histograms of each layer's weights and of its rows' normalised entropy.
  void add(const AttentionMaps& maps);
  /// `pictures`: a PNG for each layer's name.
  void add(std::int64_t step, const std::map<std::string, std::string>& pictures);
  /// Histograms of all parameters in the bytes of a model.safetensors.
  void add_parameters(std::int64_t step, const std::string& model);

 private:
  void append(std::int64_t step, const std::vector<report::EventValue>& values);

  const store::RunFolder& run_;
  std::string name_;
};

}  // namespace headtorch::cli
