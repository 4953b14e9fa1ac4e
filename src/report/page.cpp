#include "src/report/page.hpp"

#include <fmt/format.h>
#include <glib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"
#include "src/report/arrays.hpp"
#include "src/report/colour_map.hpp"
#include "src/report/page_files.hpp"
#include "src/report/page_maps.hpp"

namespace headtorch::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 800;  // of a line; a chart is about 400 pixels wide

/// As a content security policy names an inline script or style.
std::string fingerprint(std::string_view text) {
  const std::unique_ptr<GChecksum, void (*)(GChecksum*)> checksum(g_checksum_new(G_CHECKSUM_SHA256),
                                                                  g_checksum_free);
  g_checksum_update(checksum.get(), reinterpret_cast<const guchar*>(text.data()),
                    static_cast<gssize>(text.size()));
  guint8 digest[32];
  gsize size = sizeof digest;
  g_checksum_get_digest(checksum.get(), digest, &size);
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest), size}) + "'";
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string palette() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    const Rgb colour = viridis(i / 255.0);
    for (const std::uint8_t channel : {colour.r, colour.g, colour.b}) bytes += static_cast<char>(channel);
  }
  return base64(bytes);
}

ordered_json cell_document(const PageCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return finite_or_null(*number);
  const auto& score = std::get<PageScore>(cell);
  return {{"value", finite_or_null(score.value)},
          {"low", finite_or_null(score.low)},
          {"high", finite_or_null(score.high)},
          {"rows", score.rows},
          {"chance", finite_or_null(score.chance)}};
}

/// Where the page finds a head: [layer, head], the layer in the maps it has.
ordered_json place_document(const Page& contents, const HeadPlace& head) {
  const auto layer = contents.maps.empty() ? std::nullopt : find_layer(contents.maps.back(), head);
  return {layer ? static_cast<std::int64_t>(*layer) : head.layer, head.head};
}

ordered_json table_document(const Page& contents, const std::optional<PageTable>& table) {
  if (!table) return nullptr;
  ordered_json rows = ordered_json::array();
  for (const PageRow& row : table->rows) {
    if (row.cells.size() != table->columns.size()) {
      throw ShapeError("page", fmt::format("a row of table \"{}\" has {} cells, expected {}", table->name,
                                           row.cells.size(), table->columns.size()));
    }
    ordered_json cells = ordered_json::array();
    for (const PageCell& cell : row.cells) cells.push_back(cell_document(cell));
    ordered_json head = nullptr;
    if (row.head) head = place_document(contents, *row.head);
    rows.push_back({{"head", std::move(head)}, {"cells", std::move(cells)}});
  }
  return {
      {"name", table->name}, {"text", table->text}, {"columns", table->columns}, {"rows", std::move(rows)}};
}

/// Least and largest of each stretch, so that no spike is lost; the first and the last point stay.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points) {
  if (points.size() <= kMostPoints) return points;
  const std::size_t stretch = (2 * points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<std::pair<double, double>> kept = {points.front()};
  for (std::size_t begin = 1; begin < points.size(); begin += stretch) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, points.size()));
    const auto below = [](const auto& a, const auto& b) {
      // What is not finite counts as largest, so that it is seen.
      return std::isfinite(a.second) && (!std::isfinite(b.second) || a.second < b.second);
    };
    const auto [low, high] = std::minmax_element(first, last, below);
    for (const auto& point : {std::min(low, high), std::max(low, high)}) {
      if (*point != kept.back()) kept.push_back(*point);
    }
  }
  if (kept.back().first != points.back().first) kept.push_back(points.back());
  return kept;
}

ordered_json curve_document(const PageCurve& curve) {
  ordered_json lines = ordered_json::array();
  for (const PageLine& line : curve.lines) {
    ordered_json points = ordered_json::array();
    for (const auto& [step, value] : thinned(line.points)) points.push_back({step, finite_or_null(value)});
    lines.push_back({{"name", line.name}, {"points", std::move(points)}});
  }
  return {{"name", curve.name}, {"unit", curve.unit}, {"lines", std::move(lines)}};
}

const char* scale_name(ColorRange range) {
  switch (range) {
    case ColorRange::kUnit:
      return "unit";
    case ColorRange::kHead:
      return "head";
    case ColorRange::kLog:
      return "log";
  }
  return "";
}

void check_same_shape(const AttentionMaps& a, const AttentionMaps& b, std::string_view what) {
  bool same = a.layers.size() == b.layers.size();
  for (std::size_t l = 0; same && l < a.layers.size(); ++l) {
    same = a.layers[l].heads == b.layers[l].heads && a.layers[l].queries == b.layers[l].queries &&
           a.layers[l].keys == b.layers[l].keys;
  }
  if (!same) throw ShapeError("page", fmt::format("{} have another shape than the last weights", what));
}

void check(const Page& contents) {
  for (const AttentionMaps& maps : contents.maps) {
    if (maps.layers.empty()) throw ShapeError("page", "weights without a layer");
    for (std::size_t l = 0; l < maps.layers.size(); ++l) select(maps, {static_cast<std::int64_t>(l), 0, 0});
    check_same_shape(maps, contents.maps.back(), "weights of an earlier step");
  }
  if (!contents.kernels) return;
  if (contents.maps.empty()) throw ShapeError("page", "kernels without weights");
  check_same_shape(*contents.kernels, contents.maps.back(), "kernels");
}

ordered_json document(const Page& contents) {
  const PagePlan plan = plan_page(contents.maps, contents.kernels.has_value());
  ordered_json page = maps_document(contents.maps, contents.kernels, plan);
  page["title"] = contents.title;
  page["subtitle"] = contents.subtitle;
  page["palette"] = palette();
  const ordered_json start = place_document(contents, contents.start.head);
  page["start"] = {{"layer", start[0]},
                   {"head", start[1]},
                   {"sample", contents.start.sample},
                   {"scale", scale_name(contents.start.color_range)}};
  auto& sentences = page["sentences"] = ordered_json::array();
  for (const PageSentence& one : contents.sentences) {
    const ordered_json place = place_document(contents, one.head);
    sentences.push_back(
        {{"layer", place[0]}, {"head", place[1]}, {"name", head_name(one.head)}, {"text", one.text}});
  }
  auto& findings = page["findings"] = ordered_json::array();
  for (const PageFinding& one : contents.findings)
    findings.push_back({{"cause", one.cause}, {"sign", one.sign}, {"remedy", one.remedy}});
  page["scores"] = table_document(contents, contents.scores);
  page["compare"] = table_document(contents, contents.compare);
  page["settings"] = table_document(contents, contents.settings);
  auto& curves = page["curves"] = ordered_json::array();
  for (const PageCurve& curve : contents.curves) curves.push_back(curve_document(curve));
  std::vector<std::string> notes = plan_notes(contents.maps, plan);
  notes.insert(notes.end(), contents.notes.begin(), contents.notes.end());
  page["notes"] = notes;
  return page;
}

/// JSON that may stand inside a script element: no "<" in it.
std::string inline_json(const ordered_json& document) {
  const std::string text = document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

/// Puts values in place of {{name}}; what is put in is not looked at again.
std::string fill(std::string_view form, const std::map<std::string, std::string, std::less<>>& values) {
  std::string text;
  while (true) {
    const std::size_t open = form.find("{{");
    text += form.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = form.find("}}", open);
    text += values.at(std::string(form.substr(open + 2, close - open - 2)));
    form.remove_prefix(close + 2);
  }
}

}  // namespace

std::string page(const Page& contents) {
  check(contents);
  const PageFiles files = page_files();
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      fingerprint(files.script), fingerprint(files.style));
  return fill(files.html, {{"policy", policy},
                           {"title", escaped(contents.title)},
                           {"style", std::string(files.style)},
                           {"script", std::string(files.script)},
                           {"version", kVersion},
                           {"data", inline_json(document(contents))}});
}

}  // namespace headtorch::report
