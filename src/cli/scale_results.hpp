#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/probe/scale_study.hpp"
#include "src/probe/scale_verdict.hpp"
#include "src/probe/softmax_limits.hpp"
#include "src/probe/temperature_study.hpp"
#include "src/report/panels.hpp"

// What the verb scale found, and the forms in which it is told (docs/scale.md).

namespace headtorch::cli {

struct ScaleGridResults {
  std::string task;
  std::int64_t steps = 0, n_seeds = 0, seed = 1;  ///< seeds count from `seed`
  probe::ScaleGrid grid;
  probe::ScaleVerdict verdict = {};
};

struct ScaleResults {
  std::uint64_t seed = 1;
  std::int64_t samples = 0, temperature_samples = 0;
  std::vector<probe::ScalePoint> points;
  std::vector<probe::SoftmaxLimits> limits;
  probe::TemperatureStudy temperature;
  std::optional<ScaleGridResults> grid;
};

/// For people: tables, each with what it shows.
std::string scale_text(const ScaleResults& results);
std::string grid_text(const ScaleGridResults& results);

/// For programs.
nlohmann::ordered_json scale_document(const ScaleResults& results);
std::string scale_csv(const ScaleResults& results);
std::string temperature_csv(const ScaleResults& results);
std::string grid_csv(const ScaleGridResults& results);

/// Panels of what scale_text tells, and of what grid_text tells.
report::Panels scale_panels(const ScaleResults& results);
report::Panels grid_panels(const ScaleGridResults& results);

/// The smallest width from which on the mean Jacobian is smaller without the scale, for rows of `n` keys.
std::optional<std::int64_t> width_where_gradient_shrinks(const std::vector<probe::ScalePoint>& points,
                                                         std::int64_t n);

/// Mean test loss of a cell; NaN where a seed diverged.
double cell_loss(const std::vector<probe::ScaleTraining>& cell);
std::int64_t n_diverged(const std::vector<probe::ScaleTraining>& cell);

}  // namespace headtorch::cli
