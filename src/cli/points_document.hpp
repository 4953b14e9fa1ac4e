#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/report/plot.hpp"
#include "src/tasks/point_predictors.hpp"

// Error against the number of points seen, of a trained model and of what needs no training (docs/tasks.md).

namespace headtorch::cli {

/// [{k, model, nadaraya_watson, nearest_3, average, least_squares, best}].
nlohmann::ordered_json points_document(const std::vector<tasks::PointErrors>& errors);

/// A table, and how the model stands to Nadaraya-Watson.
std::string points_text(const std::vector<tasks::PointErrors>& errors);

/// What lies above twice the largest error of the model is left out.
report::Plot points_plot(const std::vector<tasks::PointErrors>& errors, const std::string& task);

}  // namespace headtorch::cli
