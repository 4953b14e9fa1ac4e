#include "src/cli/regression_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using table::ColumnKind;

constexpr std::string_view kFormat = "headtorch-regression-1";
constexpr std::string_view kKindNames[] = {"number", "date", "word"};

ordered_json column_json(const RegressionColumn& column, const regress::Variable& values) {
  ordered_json json = {{"name", column.name}, {"kind", kKindNames[static_cast<std::size_t>(column.kind)]}};
  if (column.kind == ColumnKind::kWord) {
    json["categories"] = column.categories;
    json["values"] = values.codes;
  } else {
    json["values"] = values.numbers;
  }
  return json;
}

template <std::size_t n>
std::size_t place_of(const ordered_json& name, const std::string_view (&names)[n], const char* key) {
  const auto text = name.get<std::string>();
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names)) throw std::invalid_argument(fmt::format("{} is \"{}\"", key, text));
  return static_cast<std::size_t>(found - std::begin(names));
}

void read_column(const ordered_json& json, RegressionColumn& column, regress::Variable& values) {
  column.name = json.at("name").get<std::string>();
  column.kind = static_cast<ColumnKind>(place_of(json.at("kind"), kKindNames, "kind"));
  if (column.kind != ColumnKind::kWord) {
    values.numbers = json.at("values").get<std::vector<double>>();
    return;
  }
  column.categories = json.at("categories").get<std::vector<std::string>>();
  values.codes = json.at("values").get<std::vector<std::int64_t>>();
  values.n_categories = std::ssize(column.categories);
  for (const std::int64_t code : values.codes) {
    if (code < 0 || code >= values.n_categories)
      throw std::invalid_argument(fmt::format("{} has no category {}", column.name, code));
  }
}

std::size_t rows_of(const regress::Variable& values) {
  return values.n_categories > 0 ? values.codes.size() : values.numbers.size();
}

RegressionModel parse(const ordered_json& json) {
  if (json.at("format") != kFormat) throw std::invalid_argument(fmt::format("its format is not {}", kFormat));
  RegressionModel model;
  model.smoother.degree = static_cast<regress::Degree>(place_of(json.at("method"), kMethodNames, "method"));
  model.smoother.kernel = static_cast<regress::Kernel>(place_of(json.at("kernel"), kKernelNames, "kernel"));
  read_column(json.at("y"), model.y, model.data.y);
  for (const ordered_json& column : json.at("x")) {
    read_column(column, model.x.emplace_back(), model.data.x.emplace_back());
    model.bandwidth.push_back(column.at("bandwidth").get<double>());
    if (rows_of(model.data.x.back()) != rows_of(model.data.y))
      throw std::invalid_argument(
          fmt::format("{} and {} differ in length", model.x.back().name, model.y.name));
  }
  if (model.x.empty() || rows_of(model.data.y) == 0) throw std::invalid_argument("it holds no rows");
  return model;
}

}  // namespace

std::string regression_file(const RegressionModel& model) {
  ordered_json json = {{"format", kFormat},
                       {"method", kMethodNames[static_cast<std::size_t>(model.smoother.degree)]},
                       {"kernel", kKernelNames[static_cast<std::size_t>(model.smoother.kernel)]},
                       {"x", ordered_json::array()},
                       {"y", column_json(model.y, model.data.y)}};
  for (std::size_t i = 0; i < model.x.size(); ++i) {
    json["x"].push_back(column_json(model.x[i], model.data.x[i]));
    json["x"].back()["bandwidth"] = model.bandwidth[i];
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

RegressionModel read_regression_file(std::string_view bytes, std::string_view file) {
  try {
    return parse(ordered_json::parse(bytes));
  } catch (const std::exception& error) {
    throw DataError(file, fmt::format("is no regression of ours: {}", error.what()));
  }
}

}  // namespace headtorch::cli
