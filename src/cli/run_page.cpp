#include "src/cli/run_page.hpp"

#include <fmt/format.h>

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

ordered_json parse(std::string_view text, const fs::path& path) {
  ordered_json document = ordered_json::parse(text, nullptr, false);
  if (document.is_discarded()) throw DataError(path.string(), "is damaged: expected a JSON document");
  return document;
}

/// Null when the file is not there.
ordered_json document_at(const fs::path& path) {
  const auto text = text_of(path);
  return text ? parse(*text, path) : ordered_json(nullptr);
}

/// One document a line. A last line without its end is being written, or its writer was killed.
std::vector<ordered_json> lines_at(const fs::path& path) {
  std::vector<ordered_json> lines;
  const std::string text = text_of(path).value_or("");
  std::string_view rest = text;
  while (true) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return lines;
    lines.push_back(parse(rest.substr(0, end), path));
    rest.remove_prefix(end + 1);
  }
}

void add_heads(const ordered_json& document, report::Page& page) {
  if (!document.is_object()) return;
  page.scores = scores_table(document);
  page.sentences = sentences_of(document);
  const std::vector<probe::HeadReport> kernels = kernels_of(document);
  if (!kernels.empty() && !page.maps.empty()) page.kernels = probe::kernel_maps(page.maps.back(), kernels);
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
  if (const std::string test = test_text(document_at(folder / "result.json")); !test.empty())
    page.subtitle += ": " + test;
  try {
    add_heads(document_at(folder / "heads.json"), page);
  } catch (const ConfigError& error) {
    throw DataError((folder / "heads.json").string(), fmt::format("is damaged: {}", error.what()));
  }
  if (const ordered_json found = document_at(folder / "diagnosis.json"); found.is_object())
    page.findings = findings_of(found);
  if (const ordered_json found = document_at(folder / "compare.json"); found.is_object())
    page.compare = compare_table(found);
  page.curves = training_curves(lines_at(folder / "metrics.jsonl"));
  for (report::PageCurve& curve : head_curves(lines_at(folder / "heads.jsonl")))
    page.curves.push_back(std::move(curve));
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
