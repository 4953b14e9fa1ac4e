#include "src/cli/page_sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "src/cli/place_document.hpp"
#include "src/core/head_place.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {

using nlohmann::ordered_json;

namespace {

/// What is told of a head beside its scores.
constexpr std::string_view kNotScores[] = {"layer", "head", "stack", "kernel", "labels", "sentence"};
constexpr std::string_view kFollowed[] = {"entropy_normalised", "previous_token", "duplicate_token",
                                          "induction", "sink"};

const ordered_json& at(const ordered_json& object, std::string_view key) {
  static const ordered_json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(std::string(key));
  return found == object.end() ? kNull : *found;
}

double number_at(const ordered_json& object, std::string_view key) {
  const ordered_json& value = at(object, key);
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

std::int64_t count_at(const ordered_json& object, std::string_view key) {
  const ordered_json& value = at(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string text_at(const ordered_json& object, std::string_view key) {
  const ordered_json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string name_of(const ordered_json& head) { return head_name(place_of(head)); }

std::string in_words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string joined(const ordered_json& texts) {
  std::vector<std::string> parts;
  for (const ordered_json& text : texts) {
    if (text.is_string()) parts.push_back(text.get<std::string>());
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

report::PageCell score_cell(const ordered_json& score) {
  if (!score.is_object()) return std::numeric_limits<double>::quiet_NaN();
  return report::PageScore{number_at(score, "value"), number_at(score, "low"), number_at(score, "high"),
                           count_at(score, "rows"), number_at(score, "chance")};
}

/// Lines gathered point by point, in the order of their first points.
class Curves {
 public:
  /// @param lines those that come first, in this order.
  Curves(std::string name, std::string unit, const std::vector<std::string>& lines = {})
      : curve_{std::move(name), std::move(unit), {}} {
    for (const std::string& line : lines) at(line);
  }

  void add(const std::string& line, double step, double value) { at(line).points.emplace_back(step, value); }

  /// Adds the curve when it has a line of two numbers or more; lines without a point are left out.
  void append_to(std::vector<report::PageCurve>& curves) const {
    report::PageCurve curve = curve_;
    std::erase_if(curve.lines, [](const report::PageLine& line) { return line.points.empty(); });
    const auto long_enough = [](const report::PageLine& line) {
      return std::count_if(line.points.begin(), line.points.end(),
                           [](const auto& point) { return std::isfinite(point.second); }) > 1;
    };
    if (std::any_of(curve.lines.begin(), curve.lines.end(), long_enough)) curves.push_back(std::move(curve));
  }

 private:
  report::PageLine& at(const std::string& line) {
    const auto [found, is_new] = index_.try_emplace(line, curve_.lines.size());
    if (is_new) curve_.lines.push_back({line, {}});
    return curve_.lines[found->second];
  }

  report::PageCurve curve_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace

report::PageTable scores_table(const ordered_json& document) {
  report::PageTable table{"Scores of the heads",
                          "Means over the rows that count for a score, with 95 % intervals over inputs.",
                          {"head", "nearest kernel", "explained", "labels"},
                          {}};
  const ordered_json& heads = at(document, "heads");
  std::vector<std::string> names;
  if (!heads.empty() && heads.front().is_object()) {
    for (const auto& [name, value] : heads.front().items()) {
      if (std::find(std::begin(kNotScores), std::end(kNotScores), name) == std::end(kNotScores))
        names.push_back(name);
    }
  }
  for (const std::string& name : names) table.columns.push_back(in_words(name));
  for (const ordered_json& head : heads) {
    const ordered_json& kernel = at(head, "kernel");
    const std::string text = text_at(kernel, "text");
    report::PageRow row{
        {name_of(head), text.empty() ? text : describe(parse_kernel(text), 0, place_of(head).stack),
         number_at(kernel, "explained"), joined(at(head, "labels"))},
        place_of(head)};
    for (const std::string& name : names) row.cells.push_back(score_cell(at(head, name)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<report::PageSentence> sentences_of(const ordered_json& document) {
  std::vector<report::PageSentence> sentences;
  for (const ordered_json& head : at(document, "heads")) {
    if (const std::string text = text_at(head, "sentence"); !text.empty())
      sentences.push_back({place_of(head), text});
  }
  return sentences;
}

std::vector<probe::HeadReport> kernels_of(const ordered_json& document) {
  std::vector<probe::HeadReport> heads;
  for (const ordered_json& head : at(document, "heads")) {
    const std::string text = text_at(at(head, "kernel"), "text");
    if (text.empty()) continue;
    probe::HeadReport& report = heads.emplace_back();
    const HeadPlace place = place_of(head);
    report.layer = place.layer;
    report.head = place.head;
    report.stack = place.stack;
    report.kernel.kernel = parse_kernel(text);
  }
  return heads;
}

std::vector<report::PageFinding> findings_of(const ordered_json& document) {
  std::vector<report::PageFinding> findings;
  for (const ordered_json& one : at(document, "findings")) {
    const auto value = [&](const char* key) { return report::readable(number_at(one, key), 3); };
    const std::string severity = text_at(one, "severity"), flag = text_at(one, "flag");
    findings.push_back(
        {severity.empty() ? text_at(one, "cause") : severity + ": " + text_at(one, "cause"),
         fmt::format("{}: {}, threshold {}", text_at(one, "sign"), value("value"), value("threshold")),
         text_at(one, "remedy") + (flag.empty() ? "" : ": " + flag)});
  }
  return findings;
}

report::PageTable compare_table(const ordered_json& document) {
  const ordered_json& rows = at(document, "rows");
  const std::string metric = rows.empty() ? "" : in_words(text_at(at(rows.front(), "metric"), "name"));
  report::PageTable table{
      "Comparison",
      text_at(document, "verdict") + " " + text_at(document, "verdict_reason"),
      {"model", "kind", "heads", "layers", "parameters", "skill", metric, "least of seeds", "most of seeds"},
      {}};
  for (const ordered_json& row : rows) {
    const ordered_json& values = at(row, "metric");
    table.rows.push_back({{text_at(row, "name"), text_at(row, "kind"), number_at(row, "n_heads"),
                           number_at(row, "n_layers"), number_at(row, "parameters"), number_at(row, "skill"),
                           number_at(values, "mean"), number_at(values, "min"), number_at(values, "max")},
                          std::nullopt});
  }
  return table;
}

report::PageTable settings_table(std::string_view toml) {
  report::PageTable table{"Settings", "", {"setting", "value"}, {}};
  std::string section;
  while (!toml.empty()) {
    const std::string_view line = toml.substr(0, toml.find('\n'));
    toml.remove_prefix(std::min(line.size() + 1, toml.size()));
    const std::size_t equals = line.find(" = ");
    if (line.starts_with('[') && line.ends_with(']')) {
      section = std::string(line.substr(1, line.size() - 2)) + ".";
    } else if (equals != std::string_view::npos && !line.starts_with('#')) {
      table.rows.push_back(
          {{section + std::string(line.substr(0, equals)), std::string(line.substr(equals + 3))},
           std::nullopt});
    }
  }
  return table;
}

std::vector<report::PageCurve> training_curves(const std::vector<ordered_json>& lines) {
  Curves loss("Loss", "nats a counted position", {"training", "validation"}), rate("Learning rate", ""),
      norm("Gradient norm", "before clipping"), accuracy("Accuracy", "share, on validation data");
  for (const ordered_json& line : lines) {
    const double step = number_at(line, "step");
    if (!std::isfinite(step)) continue;
    if (text_at(line, "kind") == "train") {
      loss.add("training", step, number_at(line, "loss"));
      rate.add("rate", step, number_at(line, "lr"));
      norm.add("norm", step, number_at(line, "grad_norm"));
    } else if (text_at(line, "kind") == "eval") {
      loss.add("validation", step, number_at(line, "loss"));
      accuracy.add("tokens", step, number_at(line, "token_accuracy"));
      accuracy.add("sequences", step, number_at(line, "sequence_accuracy"));
    }
  }
  std::vector<report::PageCurve> curves;
  for (const Curves& one : {loss, accuracy, rate, norm}) one.append_to(curves);
  return curves;
}

std::vector<report::PageCurve> head_curves(const std::vector<ordered_json>& lines) {
  std::vector<Curves> followed;
  for (const std::string_view name : kFollowed)
    followed.emplace_back(fmt::format("Heads: {}", in_words(std::string(name))), "over training");
  Curves bandwidth("Heads: bandwidth", "positions, of heads whose nearest kernel is a Gaussian");
  for (const ordered_json& line : lines) {
    const double step = number_at(line, "step");
    if (!std::isfinite(step)) continue;
    for (const ordered_json& head : at(line, "heads")) {
      for (std::size_t i = 0; i < followed.size(); ++i)
        followed[i].add(name_of(head), step, number_at(at(head, kFollowed[i]), "value"));
      const double h = number_at(at(head, "kernel"), "bandwidth");
      if (std::isfinite(h)) bandwidth.add(name_of(head), step, h);
    }
  }
  std::vector<report::PageCurve> curves;
  for (const Curves& one : followed) one.append_to(curves);
  bandwidth.append_to(curves);
  return curves;
}

}  // namespace headtorch::cli
