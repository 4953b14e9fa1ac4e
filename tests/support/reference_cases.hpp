#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "src/regress/regression.hpp"

// The regression cases of ../shared/reference (scripts/cases.py), where that folder stands beside the
// sources.

namespace headtorch::test {

inline std::filesystem::path shared_folder() {
  return std::filesystem::path(HEADTORCH_SOURCE_DIR).parent_path() / "shared";
}

inline std::filesystem::path source_folder() { return HEADTORCH_SOURCE_DIR; }

/// kernel.json, or what tests/golden/ has of it.
inline nlohmann::json kernel_reference() {
  std::ifstream whole(shared_folder() / "reference" / "kernel.json");
  if (whole) return nlohmann::json::parse(whole);
  std::ifstream part(source_folder() / "tests" / "golden" / "kernel_reference.json");
  return nlohmann::json::parse(part);
}

inline std::map<std::string, std::vector<double>> read_columns(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line, cell;
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> columns;
  std::getline(in, line);
  for (std::istringstream header(line); std::getline(header, cell, ',');) names.push_back(cell);
  while (std::getline(in, line)) {
    std::istringstream row(line);
    for (const auto& name : names) {
      cell.clear();
      std::getline(row, cell, ',');
      char* end = nullptr;
      const double value = std::strtod(cell.c_str(), &end);
      columns[name].push_back(end == cell.c_str() || *end != '\0' ? std::nan("") : value);
    }
  }
  return columns;
}

/// The rows of a case of kernel.json; empty where its data file is absent.
inline regress::RegressionData reference_data(const std::string& name, const nlohmann::json& known) {
  const std::string file_name = known["file"];
  auto file = shared_folder() / "data" / file_name;
  if (!std::filesystem::exists(file)) file = source_folder() / "data" / file_name;
  if (!std::filesystem::exists(file)) return {};
  const auto columns = read_columns(file);
  const bool is_log = name.starts_with("airpassengers");
  std::string target = known["y"];
  if (is_log) target = "passengers_thousands";
  std::vector<double> y = columns.at(target);
  if (is_log) {
    for (double& value : y) value = std::log(value);
  }
  regress::RegressionData data;
  std::vector<std::vector<double>> x;
  std::size_t first = 0;
  for (const std::string column : known["x"]) {
    if (!column.starts_with("lag")) {
      x.push_back(columns.at(column));
      continue;
    }
    const auto lag = static_cast<std::size_t>(std::stoul(column.substr(3)));
    first = std::max(first, lag);
    std::vector<double> moved(lag, std::nan(""));
    moved.insert(moved.end(), y.begin(), y.end() - static_cast<std::ptrdiff_t>(lag));
    x.push_back(moved);
  }
  data.x.resize(x.size());
  for (std::size_t i = first; i < y.size(); ++i) {
    bool is_complete = !std::isnan(y[i]);
    for (const auto& column : x) is_complete &= !std::isnan(column[i]);
    if (!is_complete) continue;
    data.y.numbers.push_back(y[i]);
    for (std::size_t k = 0; k < x.size(); ++k) data.x[k].numbers.push_back(x[k][i]);
  }
  return data;
}

}  // namespace headtorch::test
