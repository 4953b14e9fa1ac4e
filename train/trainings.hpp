#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/comparison.hpp"
#include "train/comparison_rows.hpp"

namespace headtorch::train {

/// What a training is for: choosing among kernels by validation data, or reporting on test data.
enum class Purpose { kChoose, kReport };

struct Job {
  const Candidate* candidate = nullptr;
  Purpose purpose = Purpose::kReport;
  std::int64_t seed = 0;  ///< the configured one for kChoose, a later one for kReport
  std::int64_t steps = 0;
  bool keeps_model = false;  ///< for Trainings::replace
};

struct Outcome {
  double value = std::numeric_limits<double>::quiet_NaN();  ///< the metric; NaN when the training diverged
  std::optional<double> mae = {}, r2 = {};                  ///< Measure::kReal, of a report
  std::optional<double> bandwidth = {};                     ///< under BandwidthBy::kSplit
  double seconds = 0.0;
  std::int64_t parameters = 0;
  std::string model;  ///< bytes of model.safetensors when it was to be kept and the training went well
};

/// The configuration of one training, but for its seed and steps.
RunConfig config_for(const Candidate& candidate, const RunConfig& base);

/// A comparison's task under a seed, counted from the configured one: 0 chooses, 1 .. n_seeds report. A
/// series is tested on one block of its last fifth after the other, the seed that chooses on validation data
/// before the first.
tasks::TaskOptions task_for(const RunConfig& config, const ComparisonOptions& options, std::int64_t k);

/// Runs the trainings of one comparison. Refers to the config and options it was made from.
class Trainings {
 public:
  using Progress = std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>;

  /// @throws what tasks::make_task throws.
  Trainings(const RunConfig& config, const ComparisonOptions& options, Progress progress);

  const tasks::TaskShape& shape() const { return task(config_, config_.train.seed).shape(); }
  /// Of another form of the task.
  const tasks::TaskShape& shape(const RunConfig& form) const {
    return task(form, config_.train.seed).shape();
  }
  const probe::ComparisonMetric& metric() const { return metric_; }
  /// Says how many trainings there will be in all.
  void expect(std::size_t n) { expected_ = static_cast<std::int64_t>(n); }

  /// One outcome a job, the same whatever the number of threads.
  std::vector<Outcome> run(const std::vector<Job>& jobs);
  /// The models that jobs for reports kept, with every head replaced: their values on the same test data, NaN
  /// where none was kept. Must not run beside trainings, which share torch's generator with it.
  std::vector<Outcome> replace(const std::vector<Job>& jobs, std::span<const Outcome> trained);

 private:
  using Work = std::function<Outcome(std::size_t job)>;
  std::vector<Outcome> side_by_side(const std::vector<Job>& jobs, std::string_view name, const Work& work);
  Outcome train(const Job& job) const;
  double value_of(const Evaluation& evaluation) const;
  const tasks::Task& task(const RunConfig& form, std::int64_t seed) const;
  double bandwidth_of(const RunConfig& form, std::int64_t seed) const;

  const RunConfig& config_;
  const ComparisonOptions& options_;
  Progress progress_;
  std::map<std::pair<tasks::Attend, std::int64_t>, std::unique_ptr<const tasks::Task>> tasks_;  // by seed
  probe::ComparisonMetric metric_;
  std::int64_t done_ = 0, expected_ = 0;
};

}  // namespace headtorch::train
