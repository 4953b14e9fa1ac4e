#include "src/cli/task_examples.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "src/tasks/patches.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using Tokens = std::vector<std::int64_t>;

constexpr std::string_view kRamp = " .:-=+*#%@";  // from black to white

/// Values first .. first+count-1 of a flat list.
template <typename Value>
std::vector<Value> slice(const std::vector<Value>& values, std::int64_t first, std::int64_t count) {
  if (values.empty()) return {};
  return {values.begin() + first, values.begin() + first + count};
}

/// Tokens with their features, and how they are called: of an example or of its source.
struct Side {
  Tokens tokens;
  std::vector<std::string> shown;
  std::vector<float> features;
  std::int64_t n_features = 0;
  tasks::ImageShape image;
};

Side example_side(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i) {
  Side side;
  side.n_features = task.shape().n_features;
  side.image = task.shape().image;
  side.tokens = slice(batch.tokens, i * batch.length, batch.length);
  side.features = slice(batch.features, i * batch.length * side.n_features, batch.length * side.n_features);
  for (std::int64_t at = i * batch.length; at < (i + 1) * batch.length; ++at)
    side.shown.push_back(task.position_text(batch, static_cast<std::size_t>(at)));
  return side;
}

Side source_side(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i) {
  const tasks::Source& source = batch.source;
  const std::int64_t length = source.lengths.at(static_cast<std::size_t>(i));
  Side side;
  side.n_features = task.shape().source.n_features;
  side.image = task.shape().source.image;
  side.tokens = slice(source.tokens, i * source.length, length);
  side.features = slice(source.features, i * source.length * side.n_features, length * side.n_features);
  for (const std::int64_t token : side.tokens) side.shown.push_back(task.source_token_text(token));
  return side;
}

std::vector<float> features_at(const Side& side, std::size_t position) {
  return slice(side.features, static_cast<std::int64_t>(position) * side.n_features, side.n_features);
}

ordered_json side_document(const Side& side) {
  ordered_json document = {{"tokens", side.tokens}, {"shown", side.shown}};
  if (side.n_features == 0) return document;
  ordered_json rows = ordered_json::array();
  for (std::size_t position = 0; position < side.tokens.size(); ++position)
    rows.push_back(features_at(side, position));
  document["features"] = rows;
  return document;
}

/// Two marks a pixel, which makes it about square.
std::string picture(const Side& side) {
  const tasks::ImageShape& image = side.image;
  const tasks::ImageSize size = {image.rows * image.patch, image.columns * image.patch};
  const std::vector<float> pixels = tasks::unpatch(
      slice(side.features, image.first * side.n_features, size.rows * size.columns), size, image.patch);
  const std::string edge = "+" + std::string(static_cast<std::size_t>(2 * size.columns), '-') + "+\n";
  std::string text = edge;
  for (std::int64_t row = 0; row < size.rows; ++row) {
    text += "|";
    for (std::int64_t column = 0; column < size.columns; ++column) {
      const float pixel = pixels[static_cast<std::size_t>(row * size.columns + column)];
      const auto shade = static_cast<std::size_t>(pixel * static_cast<float>(kRamp.size() - 1) + 0.5F);
      text += std::string(2, kRamp.at(std::min(shade, kRamp.size() - 1)));
    }
    text += "|\n";
  }
  return text + edge;
}

std::string table(const Side& side, const std::vector<std::string>& labels) {
  report::Table rows;
  rows.headers = {"token"};
  for (std::int64_t k = 0; k < side.n_features; ++k) rows.headers.push_back("f" + std::to_string(k));
  rows.headers.emplace_back("label");
  for (std::size_t position = 0; position < side.tokens.size(); ++position) {
    std::vector<std::string> row = {side.shown[position]};
    for (const float value : features_at(side, position)) row.push_back(report::readable(value, 3));
    row.push_back(labels[position]);
    rows.rows.push_back(row);
  }
  return report::to_text(rows);
}

std::vector<std::string> label_texts(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i) {
  std::vector<std::string> texts;
  for (std::int64_t at = i * batch.length; at < (i + 1) * batch.length; ++at) {
    const auto place = static_cast<std::size_t>(at);
    if (batch.labels[place] == tasks::kNotCounted) {
      texts.emplace_back(kNotCountedMark);
    } else {
      texts.push_back(batch.values.empty() ? task.label_text(batch.labels[place])
                                           : report::readable(batch.values[place], 3));
    }
  }
  return texts;
}

std::string two_lines(const std::vector<std::string>& shown, const std::vector<std::string>& labels) {
  std::string first = "tokens", second = "labels";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::int64_t width = std::max(report::display_width(shown[i]), report::display_width(labels[i]));
    first += " " + report::pad(shown[i], width, report::Align::kRight);
    second += " " + report::pad(labels[i], width, report::Align::kRight);
  }
  return first + "\n" + second + "\n";
}

}  // namespace

ordered_json example_document(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i) {
  const Side side = example_side(task, batch, i);
  ordered_json labels = ordered_json::array(), counted = ordered_json::array(),
               values = ordered_json::array();
  for (std::int64_t at = i * batch.length; at < (i + 1) * batch.length; ++at) {
    const auto place = static_cast<std::size_t>(at);
    const bool counts = batch.labels[place] != tasks::kNotCounted;
    counted.push_back(counts);
    labels.push_back(counts ? ordered_json(batch.labels[place]) : ordered_json(nullptr));
    if (!batch.values.empty())
      values.push_back(counts ? ordered_json(batch.values[place]) : ordered_json(nullptr));
  }
  ordered_json document = {
      {"tokens", side.tokens}, {"labels", labels}, {"counted", counted}, {"shown", side.shown}};
  if (side.n_features > 0) document["features"] = side_document(side)["features"];
  if (!batch.values.empty()) document["values"] = values;
  if (batch.source.length > 0) document["source"] = side_document(source_side(task, batch, i));
  return document;
}

std::string example_text(const tasks::Task& task, const tasks::Batch& batch, std::int64_t i) {
  std::string text;
  if (batch.source.length > 0) {
    const Side source = source_side(task, batch, i);
    if (source.image.rows > 0) {
      text += picture(source);
    } else {
      text += "source";
      for (const std::string& token : source.shown) text += " " + token;
      text += "\n";
    }
  }
  Side side = example_side(task, batch, i);
  std::vector<std::string> labels = label_texts(task, batch, i);
  if (side.image.rows > 0) {
    text += picture(side);
    side.shown.resize(static_cast<std::size_t>(side.image.first));
    labels.resize(side.shown.size());
  }
  const bool has_table = side.n_features > 0 && side.image.rows == 0;
  return text + (has_table ? table(side, labels) : two_lines(side.shown, labels)) + "\n";
}

}  // namespace headtorch::cli
