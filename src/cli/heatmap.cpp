#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "src/cli/artifacts.hpp"
#include "src/cli/choices.hpp"
#include "src/cli/files.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/run_page.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/report/arrays.hpp"
#include "src/report/text.hpp"
#include "src/store/foreign_weights.hpp"
#include "train/run.hpp"
#include "train/settings/number.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDefaultFormats = "png,svg";

struct HeatmapFlags {
  std::string run, tokens, layer, head, sample, input, step, formats = kDefaultFormats, color_range = "unit",
                                                             out;
  CLI::Option* has_input = nullptr;
  bool json = false;
};

/// The page is not of one layer at a time, so it is written apart.
constexpr std::array<std::pair<std::string_view, std::optional<ArtifactFormat>>, 7> kFormats = {
    {{"png", ArtifactFormat::kPng},
     {"svg", ArtifactFormat::kSvg},
     {"csv", ArtifactFormat::kCsv},
     {"npy", ArtifactFormat::kNpy},
     {"json", ArtifactFormat::kJson},
     {"html", std::nullopt},
     {"text", ArtifactFormat::kText}}};
constexpr std::array<std::pair<std::string_view, report::ColorRange>, 3> kColorRanges = {
    {{"unit", report::ColorRange::kUnit},
     {"head", report::ColorRange::kHead},
     {"log", report::ColorRange::kLog}}};

struct Formats {
  std::vector<ArtifactFormat> files;
  bool html = false;
};

Formats formats_of(std::string_view text) {
  Formats formats;
  for (const std::string_view name : train::split_at_commas(text)) {
    const std::optional<ArtifactFormat> format = choose("--format", name, kFormats);
    if (!format) {
      formats.html = true;
    } else if (std::find(formats.files.begin(), formats.files.end(), *format) == formats.files.end()) {
      formats.files.push_back(*format);
    }
  }
  return formats;
}

AttentionMaps maps_of_input(const HeatmapFlags& flags) {
  const StoredRun run = load_run(flags.run, flags.step);
  return train::record_attention(run.config, *run.task, run.model,
                                 train::typed_input(run.config, *run.task, run.model, flags.input), run.step);
}

AttentionMaps maps_of_sample(const HeatmapFlags& flags, const store::RunFolder& run) {
  return load_attention(run, step_of(flags.step, stored_attention_steps(run), run, "stored weights"));
}

std::optional<std::int64_t> index(std::string_view flag, const std::string& text, std::int64_t count) {
  if (text.empty()) return std::nullopt;
  return whole_number(flag, text, 0, count - 1);
}

std::string terminal_pictures(const AttentionMaps& maps, const ArtifactRequest& request) {
  std::string text;
  for (const std::int64_t layer : layers_of(maps, request)) {
    text += report::terminal_picture(maps, {.layer = layer,
                                            .head = request.head,
                                            .sample = request.sample,
                                            .color_range = request.color_range,
                                            .columns = terminal_columns(),
                                            .colour = terminal_colour()}) +
            '\n';
  }
  return text;
}

/// Whose weights are drawn: a run's, or those of a file from elsewhere.
struct Source {
  std::string name;
  std::optional<store::RunFolder> run = {};
  AttentionMaps maps;
  std::optional<std::string> doubts = {};
};

Source open_source(const HeatmapFlags& flags) {
  Source source;
  source.name = flags.run;
  if (!store::is_weights_path(flags.run)) {
    if (!flags.tokens.empty())
      throw UsageError("--tokens", "is for a file of weights, a run knows its tokens");
    source.run = open_run(flags.run);
    source.name = source.run->path().string();
    source.maps = *flags.has_input ? maps_of_input(flags) : maps_of_sample(flags, *source.run);
    return source;
  }
  if (*flags.has_input) throw UsageError("--input", "is for a run, a file of weights has no model");
  if (!flags.step.empty()) throw UsageError("--step", "is for a run, a file of weights has no steps");
  source.maps = store::read_foreign_weights(flags.run, flags.tokens);
  source.doubts = store::doubts_about(source.maps);
  return source;
}

/// heatmaps/ of a run holds what training drew; anything else goes into a folder of its own beside it.
fs::path default_folder(const HeatmapFlags& flags, const Source& source) {
  if (!source.run) return fs::path(flags.run).replace_extension("heatmaps");
  std::vector<std::string> parts;
  if (!flags.step.empty()) parts.push_back(store::step_name(source.maps.step));
  if (*flags.has_input) parts.emplace_back("input");
  if (!flags.sample.empty() && flags.sample != "0") parts.push_back("sample-" + flags.sample);
  if (flags.color_range != "unit") parts.push_back(flags.color_range);
  const fs::path folder = source.run->path() / "heatmaps";
  return parts.empty() ? folder : folder / fmt::format("{}", fmt::join(parts, "-"));
}

nlohmann::ordered_json heatmap_document(const Source& source, const ArtifactRequest& request,
                                        const std::vector<std::string>& files) {
  nlohmann::ordered_json document = {{"run", source.name}, {"files", files}};
  if (!source.run)
    document["doubts"] =
        source.doubts ? nlohmann::ordered_json(*source.doubts) : nlohmann::ordered_json(nullptr);
  document.update(nlohmann::ordered_json::parse(
      report::json(source.maps, {request.sample, request.layers, request.head})));
  return document;
}

std::string page_of(const HeatmapFlags& flags, const Source& source, const ArtifactRequest& request) {
  const LayerWeights& first =
      source.maps.layers[static_cast<std::size_t>(request.layers.empty() ? 0 : request.layers.front())];
  const report::PageStart start{
      {first.layer, request.head.value_or(0), first.stack}, request.sample, request.color_range};
  if (!source.run) return foreign_page(source.maps, start);
  return *flags.has_input || !flags.step.empty() ? maps_page(source.maps, start)
                                                 : run_page(*source.run, start);
}

ExitCode draw_heatmaps(const HeatmapFlags& flags) {
  ArtifactRequest request;
  Formats formats = formats_of(flags.formats);
  request.formats = formats.files;
  request.color_range = choose("--color-range", flags.color_range, kColorRanges);
  const Source source = open_source(flags);
  const AttentionMaps& maps = source.maps;
  const auto layer = parse_layer("--layer", flags.layer);
  if (layer) request.layers = chosen_layers(maps, layer);
  const auto first_layer = static_cast<std::size_t>(layer ? request.layers.front() : 0);
  request.head = index("--head", flags.head, maps.layers[first_layer].heads);
  request.sample = index("--sample", flags.sample, static_cast<std::int64_t>(maps.tokens.size())).value_or(0);

  const auto text = std::find(request.formats.begin(), request.formats.end(), ArtifactFormat::kText);
  bool show = output_is_terminal();
  if (text != request.formats.end() && !flags.json) {
    request.formats.erase(text);
    show = true;
  }
  Files files(flags.out.empty() ? default_folder(flags, source) : fs::path(flags.out));
  write_artifacts(maps, request,
                  [&](const fs::path& name, const std::string& bytes) { files.write(name, bytes); });
  if (formats.html) files.write("report.html", page_of(flags, source, request));
  if (source.doubts) spdlog::warn("{}: {}; drawn as they are", flags.run, *source.doubts);

  if (flags.json) {
    print_json(heatmap_document(source, request, files.paths()));
    return ExitCode::kDone;
  }
  if (show) print(terminal_pictures(maps, request));
  if (!files.paths().empty()) {
    print(fmt::format("Written: {} in {}\n", report::counted(std::ssize(files.paths()), "file"),
                      files.folder().string()));
  }
  print(source.run
            ? fmt::format("Next: {} heatmap {} --layer 0 --head 0 --format text\n", command_name(), flags.run)
            : fmt::format("Next: {} heads {}\n", command_name(), flags.run));
  return ExitCode::kDone;
}

}  // namespace

void add_heatmap(CLI::App& program, Action& action) {
  auto flags = std::make_shared<HeatmapFlags>();
  CLI::App* verb = program.add_subcommand("heatmap", "Draw where the heads of a trained run look");
  verb->add_option("RUN", flags->run,
                   "Folder of a run, its name under runs/, or a file of weights (.npy, .json, .safetensors)")
      ->required()
      ->type_name("");
  verb->add_option("--tokens", flags->tokens,
                   "For a file of weights: its tokens, a JSON list or a token a line or a word")
      ->type_name("FILE");
  verb->add_option("--layer", flags->layer,
                   "Only this layer, from 0; E0, D0, C0: of encoder, decoder or cross-attention")
      ->type_name("L");
  verb->add_option("--head", flags->head, "Only this head, from 0")->type_name("H");
  CLI::Option* sample =
      verb->add_option("--sample", flags->sample, "Which stored example, from 0 (first: 0)")->type_name("N");
  flags->has_input =
      verb->add_option("--input", flags->input,
                       "Tokens of your own, such as \"3 1 4\", or a text; with an encoder-decoder its source")
          ->type_name("TOKENS");
  flags->has_input->excludes(sample);
  verb->add_option("--step", flags->step, "After which training step (the last)")->type_name("S");
  verb->add_option("--format", flags->formats,
                   "png, svg, csv, npy, json, html, text; several with commas (png,svg)")
      ->type_name("LIST");
  verb->add_option("--color-range", flags->color_range, "unit: 0 to 1; head: 0 to the head's largest; log")
      ->type_name("RANGE");
  verb->add_option("--out", flags->out, "Folder for the files; RUN/heatmaps or FILE.heatmaps unless given")
      ->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document with the weights on standard output");
  verb->footer(
      fmt::format("Examples:\n  {0} heatmap runs/reverse-001\n"
                  "  {0} heatmap reverse-001 --input \"3 1 4 1 5\" --format text\n"
                  "  {0} heatmap reverse-001 --layer 0 --head 1 --format svg,csv --out figures\n"
                  "  {0} heatmap weights.npy --tokens words.txt --format html",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return draw_heatmaps(*flags); }; });
}

}  // namespace headtorch::cli
