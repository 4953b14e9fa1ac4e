#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "src/cli/choices.hpp"
#include "src/cli/head_files.hpp"
#include "src/cli/heads_document.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/progress.hpp"
#include "src/cli/run_page.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/probe/head_reader.hpp"
#include "src/probe/labels.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"
#include "src/store/foreign_weights.hpp"
#include "train/head_study.hpp"
#include "train/run.hpp"

namespace headtorch::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kExampleInputs = 256;       // among which examples are chosen
constexpr std::int64_t kExampleWeights = 1 << 26;  // of all of them, in memory

struct HeadsFlags {
  std::string source, tokens, step, sort, label, layer, head, examples, out;
  bool by_row = false, json = false, quiet = false;
};

/// What is said, and the weights it may be drawn on: of a run, or of a file from elsewhere.
struct Reading {
  std::string source;
  Files files;  // pictures and tables
  train::HeadStudy study = {};
  bool is_run = false;
  AttentionMaps maps = {};
};

AttentionMaps part(const AttentionMaps& maps, std::int64_t first, std::int64_t count) {
  AttentionMaps some = maps;
  const auto cut = [&](auto& list) {
    if (list.empty()) return;
    list = {list.begin() + first, list.begin() + first + count};
  };
  for (SequenceLabels* labels : {static_cast<SequenceLabels*>(&some), &some.source}) {
    cut(labels->tokens);
    cut(labels->ids);
    cut(labels->lengths);
  }
  for (LayerWeights& layer : some.layers) {
    const std::int64_t size = layer.heads * layer.queries * layer.keys;
    layer.samples = count;
    layer.values = {layer.values.begin() + first * size, layer.values.begin() + (first + count) * size};
  }
  return some;
}

std::optional<HeadPlace> example_place(const HeadsFlags& flags) {
  if (flags.examples.empty()) return std::nullopt;
  return parse_place("--examples", flags.examples);
}

/// Weights that no model came with: every row counts alike, and nothing can be replaced.
Reading read_file_of_weights(const HeadsFlags& flags) {
  if (!flags.step.empty()) throw UsageError("--step", "is for a run, a file of weights has no steps");
  AttentionMaps maps = store::read_foreign_weights(flags.source, flags.tokens);
  if (const auto doubts = store::doubts_about(maps)) throw DataError(flags.source, *doubts);
  if (const auto place = example_place(flags)) check_place("--examples", *place, maps);
  Reading reading{.source = flags.source,
                  .files = Files(flags.out.empty() ? fs::path(flags.source).replace_extension("heads")
                                                   : fs::path(flags.out)),
                  .maps = std::move(maps)};
  const Waiting waiting(progress_style(flags.quiet || flags.json), "reading the heads");
  const std::int64_t samples = reading.maps.layers.front().samples;
  const std::int64_t n_fit = (samples + 1) / 2;
  probe::HeadReader reader({.row_importance = {}, .kernel_by_row = flags.by_row});
  reader.fit(part(reading.maps, 0, n_fit));
  if (samples > n_fit) reader.judge(part(reading.maps, n_fit, samples - n_fit));
  reading.study.n_fit = n_fit;
  reading.study.n_judge = samples - n_fit;
  reading.study.heads = reader.reports();
  return reading;
}

fs::path folder_for(const HeadsFlags& flags, const StoredRun& run) {
  if (!flags.out.empty()) return flags.out;
  const fs::path folder = run.folder.path() / "heads";
  return flags.step.empty() ? folder : folder / store::step_name(run.step);
}

AttentionMaps record_inputs(const StoredRun& run, std::int64_t n) {
  return record_attention(run.config, *run.task, run.model, train::default_inputs(*run.task, n), run.step);
}

/// As many as examples are chosen among; fewer where weights are many.
std::int64_t example_inputs(const AttentionMaps& one) {
  std::int64_t weights = 0;
  for (const LayerWeights& layer : one.layers) weights += std::ssize(layer.values);
  return std::clamp<std::int64_t>(kExampleWeights / weights, 3, kExampleInputs);
}

Reading read_run(const HeadsFlags& flags) {
  if (!flags.tokens.empty()) throw UsageError("--tokens", "is for a file of weights, a run knows its tokens");
  const auto place = example_place(flags);
  const StoredRun run = load_run(flags.source, flags.step);
  Reading reading{.source = run.folder.path().string(),
                  .files = Files(folder_for(flags, run)),
                  .is_run = true,
                  .maps = record_inputs(run, 1)};
  if (place) check_place("--examples", *place, reading.maps);
  const Waiting waiting(progress_style(flags.quiet || flags.json), "reading the heads");
  reading.study = study_heads(run.config, *run.task, run.model, run.step,
                              {.kernel_by_row = flags.by_row, .removal = true});
  if (place) reading.maps = record_inputs(run, example_inputs(reading.maps));
  return reading;
}

void check_sort(const std::string& name, const probe::HeadReport& head) {
  std::vector<std::string_view> known = {"explained", "bandwidth"};
  for (const probe::NamedScore& named : head.scores) known.push_back(named.name);
  if (std::find(known.begin(), known.end(), name) == known.end()) refuse_choice("--sort", name, known);
}

/// By --layer, --head and --label, then by --sort: the largest first, what has no number last.
std::vector<probe::HeadReport> chosen(const HeadsFlags& flags, const Reading& reading) {
  const std::vector<probe::HeadReport>& all = reading.study.heads;
  std::vector<probe::HeadReport> heads = all;
  const auto keep = [&](const auto& wanted) {
    std::erase_if(heads, [&](const probe::HeadReport& head) { return !wanted(head); });
  };
  if (const auto layer = parse_layer("--layer", flags.layer)) {
    chosen_layers(reading.maps, layer);
    keep([&](const probe::HeadReport& head) { return layer->holds(head.stack, head.layer); });
  }
  if (!flags.head.empty()) {
    const std::int64_t index = whole_number("--head", flags.head, 0, all.back().head);
    keep([&](const probe::HeadReport& head) { return head.head == index; });
  }
  if (!flags.label.empty()) {
    const auto& known = probe::kLabels;
    if (std::find(known.begin(), known.end(), flags.label) == known.end()) {
      refuse_choice("--label", flags.label, {known.begin(), known.end()});
    }
    keep([&](const probe::HeadReport& head) {
      return std::find(head.labels.begin(), head.labels.end(), flags.label) != head.labels.end();
    });
  }
  if (!flags.sort.empty() && !all.empty()) {
    check_sort(flags.sort, all.front());
    const auto key = [&](const probe::HeadReport& head) {
      return flags.sort == "explained" ? head.kernel.explained
             : flags.sort == "bandwidth"
                 ? (head.kernel.kernel.family == KernelFamily::kGaussian ? head.kernel.kernel.bandwidth
                                                                         : std::nan(""))
                 : head.score(flags.sort).value;
    };
    std::stable_sort(heads.begin(), heads.end(), [&](const probe::HeadReport& a, const probe::HeadReport& b) {
      const double x = key(a), y = key(b);
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return x > y;
    });
  }
  return heads;
}

std::string table(const std::vector<probe::HeadReport>& heads) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kColumns = {
      {{"entropy", "entropy_normalised"},
       {"largest", "max_weight"},
       {"previous", "previous_token"},
       {"duplicate", "duplicate_token"},
       {"induction", "induction"},
       {"distance", "mean_distance"},
       {"sink", "sink"},
       {"df", "effective_df"}}};
  using report::Align;
  report::Table table;
  table.headers = {"head"};
  table.align = {Align::kLeft};
  for (const auto& [title, name] : kColumns) {
    table.headers.emplace_back(title);
    table.align.push_back(Align::kRight);
  }
  table.headers.insert(table.headers.end(), {"nearest kernel", "explained", "labels"});
  table.align.insert(table.align.end(), {Align::kLeft, Align::kRight, Align::kLeft});
  const auto text = [](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.2f}", value);
  };
  for (const probe::HeadReport& head : heads) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(head_name(head));
    for (const auto& [title, name] : kColumns) {
      const probe::Score& score = head.score(name);
      row.push_back(std::isnan(score.value) || std::isnan(score.low)
                        ? text(score.value)
                        : fmt::format("{}±{}", text(score.value), text((score.high - score.low) / 2)));
    }
    row.push_back(describe(head.kernel.kernel, 0, head.stack));
    row.push_back(text(head.kernel.explained));
    row.push_back(fmt::format("{}", fmt::join(head.labels, ", ")));
  }
  return report::to_text(table);
}

std::string examples_text(const nlohmann::ordered_json& examples) {
  std::string text;
  for (const auto& example : examples) {
    std::vector<std::string> tokens;
    for (const auto& token : example["tokens"]) tokens.push_back(report::visible(token.get<std::string>()));
    text += fmt::format(
        "{:<9}  {} nats from uniform  sample {}: {}\n", example["kind"].get<std::string>(),
        example["strength"].is_null() ? "-" : report::readable(example["strength"].get<double>(), 3),
        example["sample"].get<std::size_t>(), report::fit(fmt::format("{}", fmt::join(tokens, " ")), 100));
  }
  return text + '\n';
}

std::string summary(const HeadsFlags& flags, const Reading& reading,
                    const std::vector<probe::HeadReport>& heads, const nlohmann::ordered_json& examples) {
  const std::vector<std::string>& written = reading.files.paths();
  std::string text;
  for (const probe::HeadReport& head : heads) text += sentence(head) + '\n';
  if (heads.empty()) text += "No head fits what was asked for.\n";
  if (reading.is_run) {
    text += replaced_sentence(reading.study) + ".\n";
  } else {
    text += "Weights from elsewhere: no model to ask which rows matter, so every row counts alike";
    text += reading.study.n_judge > 0 ? ".\n"
                                      : "; one input: kernels are\nfitted and judged on the same weights.\n";
  }
  text += '\n' + table(heads) + '\n';
  if (!examples.empty()) text += examples_text(examples);
  text += fmt::format(
      "Each number with half its 95 % interval over inputs; all of them, with chance levels, in {}\n",
      written.front());
  text +=
      fmt::format("Written: {} in {}\n", report::counted(static_cast<std::int64_t>(written.size()), "file"),
                  reading.files.folder().string());
  if (reading.is_run) {
    const probe::HeadReport& first = reading.study.heads.front();
    const std::string layer =
        first.stack == Stack::kSelf ? std::to_string(first.layer) : layer_name(first.stack, first.layer);
    text += fmt::format("Next: {0} heads {1} --examples {2}.{3}\n      {0} ablate {1}\n", command_name(),
                        flags.source, layer, first.head);
  }
  return text;
}

ExitCode tell_heads(const HeadsFlags& flags) {
  Reading reading = store::is_weights_path(flags.source) ? read_file_of_weights(flags) : read_run(flags);
  const std::vector<probe::HeadReport> heads = chosen(flags, reading);
  write_head_files(reading.maps, reading.study.heads, reading.files);
  nlohmann::ordered_json examples = nlohmann::ordered_json::array();
  if (const auto place = example_place(flags)) examples = draw_examples(reading.maps, *place, reading.files);
  nlohmann::ordered_json document = {
      {"run", reading.source}, {"n_fit", reading.study.n_fit}, {"n_judge", reading.study.n_judge}};
  if (reading.is_run) {
    document = study_document(reading.source, reading.study);
    if (flags.step.empty()) {
      write_file(fs::path(reading.source) / "heads.json", document_text(document));
      write_file(fs::path(reading.source) / "report.html", run_page(open_run(reading.source)));
    }
  }
  document["heads"] = heads_list(heads);
  if (!examples.empty()) document["examples"] = examples;
  document["files"] = reading.files.paths();
  if (flags.json) {
    print_json(document);
  } else {
    print(summary(flags, reading, heads, examples));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_heads(CLI::App& program, Action& action) {
  auto flags = std::make_shared<HeadsFlags>();
  CLI::App* verb =
      program.add_subcommand("heads", "What each head does: scores, its nearest fixed kernel, labels");
  verb->add_option("RUN", flags->source, "Folder of a run, or a .npy, .json or .safetensors file of weights")
      ->required()
      ->type_name("RUN|FILE");
  verb->add_option("--tokens", flags->tokens, "Tokens of a file of weights: a JSON list, or a text file")
      ->type_name("FILE");
  verb->add_option("--step", flags->step, "Step of a checkpoint; the last unless given")->type_name("N");
  verb->add_option("--layer", flags->layer,
                   "Only heads of this layer; E0, D0, C0: of encoder, decoder or cross-attention")
      ->type_name("L");
  verb->add_option("--head", flags->head, "Only heads of this number")->type_name("N");
  verb->add_option("--label", flags->label, "Only heads with this label, such as induction")
      ->type_name("NAME");
  verb->add_option("--sort", flags->sort, "Largest first by a score, explained or bandwidth")
      ->type_name("NAME");
  verb->add_flag("--by-row", flags->by_row, "Also fit a centre and a bandwidth to each row");
  verb->add_option("--examples", flags->examples,
                   "Draw the inputs on which LAYER.HEAD (1.0, or C1.0) is strongest, typical, weakest")
      ->type_name("LAYER.HEAD");
  verb->add_option("--out", flags->out, "Folder for files; RUN/heads unless given")->type_name("DIR");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->add_flag("--quiet", flags->quiet, "No progress");
  verb->footer(
      fmt::format("Examples:\n  {0} heads runs/reverse-001\n  {0} heads runs/induction-001 --sort induction\n"
                  "  {0} heads weights.npy --tokens tokens.txt --json",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return tell_heads(*flags); }; });
}

}  // namespace headtorch::cli
