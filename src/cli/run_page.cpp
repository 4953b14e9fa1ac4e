#include "src/cli/run_page.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "src/cli/artifacts.hpp"
#include "src/cli/heads_document.hpp"
#include "src/cli/page_sections.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/probe/head_reader.hpp"
#include "src/probe/kernel_maps.hpp"
#include "src/report/text.hpp"
#include "src/store/foreign_weights.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
using nlohmann::ordered_json;
namespace {

std::optional<std::string> text_of(const fs::path& path) {
  std::error_code absent;
  if (!fs::is_regular_file(path, absent)) return std::nullopt;
  return read_file(path);
}

/// One document a line. A last line without its end is being written, or its writer was killed.
std::vector<ordered_json> lines_of(std::string_view text) {
  std::vector<ordered_json> lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    lines.push_back(ordered_json::parse(text.substr(0, end)));
  }
  return lines;
}

/// Makes a part of the page from a file of the run. Without the file there is no such part; from a damaged
/// one there is none either, and the page says so.
template <typename Make>
void add_part(const fs::path& path, report::Page& page, const Make& make) {
  const std::optional<std::string> text = text_of(path);
  if (!text) return;
  bool damaged = false;
  try {
    make(*text);
  } catch (const nlohmann::json::exception&) {
    damaged = true;
  } catch (const ConfigError&) {  // a kernel that cannot be read, or of a head that is not there
    damaged = true;
  } catch (const ShapeError&) {
    damaged = true;
  }
  if (!damaged) return;
  const std::string what = "is damaged: what it holds is left out of the page";
  spdlog::warn("{} {}", path.string(), what);
  page.notes.push_back(fmt::format("{} {}.", path.filename().string(), what));
}

void add_heads(const ordered_json& document, report::Page& page) {
  if (!document.is_object()) return;
  const std::vector<probe::HeadReport> kernels = kernels_of(document);
  if (!kernels.empty() && !page.maps.empty()) page.kernels = probe::kernel_maps(page.maps.back(), kernels);
  page.scores = scores_table(document);
  page.sentences = sentences_of(document);
}

std::string test_text(const ordered_json& result) {
  if (!result.is_object()) return {};
  const ordered_json test = result.value("test", ordered_json::object());
  const auto number = [](const ordered_json& object, const char* key) -> std::optional<double> {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return std::nullopt;
    return object[key].get<double>();
  };
  std::string text;
  if (const auto steps = number(result, "steps"))
    text += report::counted(static_cast<std::int64_t>(*steps), "step") + " of training";
  if (const auto accuracy = number(test, "token_accuracy"))
    text += fmt::format(", token accuracy {}", report::readable(*accuracy));
  if (const auto loss = number(test, "loss")) text += fmt::format(", loss {}", report::readable(*loss));
  if (const auto n = number(test, "n"))
    text += fmt::format(" on {}", report::counted(static_cast<std::int64_t>(*n), "held-out example"));
  return text;
}

}  // namespace

std::string run_page(const store::RunFolder& run, const report::PageStart& start) {
  const fs::path& folder = run.path();
  report::Page page;
  page.start = start;
  for (const std::int64_t step : stored_attention_steps(run)) page.maps.push_back(load_attention(run, step));
  const fs::path name = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  page.title =
      page.maps.empty() ? name.string() : fmt::format("{}: what the heads do", page.maps.back().task);
  page.subtitle = name.string();
  add_part(folder / "result.json", page, [&](const std::string& text) {
    if (const std::string test = test_text(ordered_json::parse(text)); !test.empty())
      page.subtitle += ": " + test;
  });
  add_part(folder / "heads.json", page,
           [&](const std::string& text) { add_heads(ordered_json::parse(text), page); });
  add_part(folder / "diagnosis.json", page, [&](const std::string& text) {
    if (const ordered_json found = ordered_json::parse(text); found.is_object())
      page.findings = findings_of(found);
  });
  add_part(folder / "compare.json", page, [&](const std::string& text) {
    if (const ordered_json found = ordered_json::parse(text); found.is_object())
      page.compare = compare_table(found);
  });
  add_part(folder / "metrics.jsonl", page,
           [&](const std::string& text) { page.curves = training_curves(lines_of(text)); });
  add_part(folder / "heads.jsonl", page, [&](const std::string& text) {
    for (report::PageCurve& curve : head_curves(lines_of(text))) page.curves.push_back(std::move(curve));
  });
  if (const auto toml = text_of(folder / "config.toml")) page.settings = settings_table(*toml);
  return report::page(page);
}

std::string maps_page(const AttentionMaps& maps, const report::PageStart& start) {
  report::Page page;
  page.title = fmt::format("{}: where the heads look", maps.task);
  page.maps = {maps};
  page.start = start;
  return report::page(page);
}

std::string foreign_page(const AttentionMaps& maps, const report::PageStart& start) {
  report::Page page;
  page.title = maps.task;
  page.maps = {maps};
  page.start = start;
  if (const auto doubts = store::doubts_about(maps)) {
    page.notes = {"No scores: " + *doubts + "."};
  } else {
    probe::HeadReader reader(probe::HeadReaderOptions{});
    reader.fit(maps);
    page.subtitle =
        "Weights from elsewhere: every row counts alike, kernels are judged on what they were fitted to";
    add_heads({{"heads", heads_list(reader.reports())}}, page);
  }
  return report::page(page);
}

}  // namespace headtorch::cli
