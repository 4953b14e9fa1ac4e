#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "src/core/file.hpp"
#include "src/report/arrays.hpp"
#include "src/report/page.hpp"

// Writes the pages that the tests here open, and beside each the weights as NPY: make_pages FOLDER.

namespace headtorch::report {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> numbered_tokens(std::int64_t n) {
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < n; ++i) tokens.push_back(fmt::format("t{}", i));
  return tokens;
}

/// Head h of layer l: rows that sum to 1, around the key i - h, broader in deeper layers; with a sink on key
/// 0.
AttentionMaps bumps(std::int64_t layers, std::int64_t samples, std::int64_t heads, std::int64_t length,
                    std::int64_t step) {
  AttentionMaps maps;
  maps.task = "copy";
  maps.step = step;
  for (std::int64_t s = 0; s < samples; ++s) maps.tokens.push_back(numbered_tokens(length));
  for (std::int64_t l = 0; l < layers; ++l) {
    LayerWeights layer{samples, heads, length, length, {}, Stack::kSelf, l};
    for (std::int64_t s = 0; s < samples; ++s) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const double width =
            (1.0 + static_cast<double>(l + s)) * (1.0 + 100.0 / static_cast<double>(step + 1));
        for (std::int64_t i = 0; i < length; ++i) {
          std::vector<double> row;
          double sum = 0.0;
          for (std::int64_t j = 0; j < length; ++j) {
            const double away = static_cast<double>(j - (i - h)) / width;
            row.push_back(std::exp(-away * away / 2.0) + (j == 0 ? 0.3 * static_cast<double>(h) : 0.0) +
                          1e-4);
            sum += row.back();
          }
          for (const double weight : row) layer.values.push_back(static_cast<float>(weight / sum));
        }
      }
    }
    maps.layers.push_back(std::move(layer));
  }
  return maps;
}

AttentionMaps of_values(std::int64_t heads, std::int64_t queries, std::int64_t keys,
                        std::vector<float> values, std::vector<std::string> tokens) {
  AttentionMaps maps;
  maps.task = "copy";
  maps.step = 600;
  maps.tokens = {std::move(tokens)};
  maps.layers = {{1, heads, queries, keys, std::move(values)}};
  return maps;
}

PageCurve curve(const char* name, const char* unit, std::int64_t steps) {
  PageLine train{"training", {}}, valid{"validation", {}};
  for (std::int64_t step = 1; step <= steps; ++step) {
    const double x = static_cast<double>(step);
    train.points.emplace_back(x, 3.0 * std::exp(-x / 150.0) + 0.1 * std::sin(x));
    if (step % 50 == 0) valid.points.emplace_back(x, 3.1 * std::exp(-x / 150.0));
  }
  return {name, unit, {train, valid}};
}

/// Everything that a page can hold: 4 layers x 8 heads x 64 tokens x 20 steps, 16 samples of the last.
Page full() {
  Page page;
  page.title = "reverse: what the heads do";
  page.subtitle = "Every head of a small Transformer, over its training";
  for (std::int64_t step = 0; step < 20; ++step)
    page.maps.push_back(bumps(4, step == 19 ? 16 : 1, 8, 64, step * 50));
  page.kernels = bumps(4, 16, 8, 64, 100'000);
  PageTable scores{"Scores",
                   "Means over eligible rows, with 95 % intervals.",
                   {"head", "label", "previous_token", "entropy"}};
  for (std::int64_t l = 0; l < 4; ++l) {
    for (std::int64_t h = 0; h < 8; ++h) {
      const double value = std::fmod(0.37 * static_cast<double>(8 * l + h), 1.0);
      page.sentences.push_back(
          {{l, h}, fmt::format("L{}H{} is a Gaussian {} back, h {}, explains 9{} %", l, h, h, l + 1, h)});
      scores.rows.push_back(
          {{fmt::format("L{}H{}", l, h), h % 2 == 0 ? "local" : "sink",
            PageScore{value, value - 0.01, value + 0.01, 4096, 0.06}, h == 3 ? std::nan("") : 4.0 - value},
           HeadPlace{l, h}});
    }
  }
  page.scores = scores;
  page.findings = {{"learning rate far too high", "score sd 61.2 at step 150, above 50",
                    "Lower --lr, or warm up longer."}};
  page.compare = PageTable{
      "Comparison",
      "One learned head is enough: it solves on every seed, clearly ahead of the best fixed kernel.",
      {"model", "heads", "skill"},
      {{{"uniform", 1.0, 0.12}}, {{"one learned head", 1.0, 1.0}}}};
  page.settings =
      PageTable{"Settings", "", {"key", "value"}, {{{"train.lr", "0.003"}}, {{"model.d_model", "64"}}}};
  page.curves = {curve("loss", "nats a position", 950), curve("gradient norm", "before clipping", 3)};
  page.curves[1].lines[0].points[1].second = std::nan("");
  return page;
}

Page of_maps(const char* title, AttentionMaps maps) {
  Page page;
  page.title = title;
  page.maps.push_back(std::move(maps));
  return page;
}

/// Case G15.
Page hostile() {
  const std::vector<std::string> tokens = {
      "a<b<c", "&",  "&amp;",  "\"",         "'",        "</script>",   "<img src=x onerror=alert(1)>",
      "\n",    "\t", "\u200f", "\U0001F600", "{{data}}", "<!--<script>"};
  std::vector<float> even(tokens.size() * tokens.size(), 1.0F / static_cast<float>(tokens.size()));
  const auto n = static_cast<std::int64_t>(tokens.size());
  Page page = of_maps("</title><script>alert(1)</script>", of_values(1, n, n, even, tokens));
  page.subtitle = page.title;
  page.sentences = {{{0, 0}, tokens[6]}};
  page.findings = {{tokens[5], tokens[6], tokens[1]}};
  page.scores =
      PageTable{tokens[5], tokens[6], {tokens[6], "n"}, {{{tokens[6], 1.0}}, {{tokens[2], std::nan("")}}}};
  page.curves = {{tokens[6], tokens[2], {{tokens[6], {{1, 1}, {2, 2}}}}}};
  page.notes = {tokens[6]};
  return page;
}

/// A layer whose head h of layer l looks from row i mostly at key (i + h) * keys / queries.
LayerWeights slanted(Stack stack, std::int64_t number, std::int64_t queries, std::int64_t keys) {
  LayerWeights layer{2, 2, queries, keys, {}, stack, number};
  for (std::int64_t map = 0; map < 4; ++map) {
    for (std::int64_t i = 0; i < queries; ++i) {
      std::vector<double> row;
      double sum = 0.0;
      for (std::int64_t j = 0; j < keys; ++j) {
        const bool ahead = stack == Stack::kDecoder && j > i;
        const double away =
            static_cast<double>(j) - static_cast<double>((i + map) * keys) / static_cast<double>(queries);
        row.push_back(ahead ? 0.0 : 0.01 + std::exp(-away * away));
        sum += row.back();
      }
      for (const double weight : row) layer.values.push_back(static_cast<float>(weight / sum));
    }
  }
  return layer;
}

std::vector<std::string> letters_of(const std::string& text) {
  std::vector<std::string> letters;
  for (const char c : text) letters.emplace_back(1, c);
  return letters;
}

/// From a date in words to one in figures.
Page translated() {
  AttentionMaps maps;
  maps.task = "dates";
  maps.step = 500;
  const auto source = letters_of("29 November 2026"), target = letters_of("2026-11-29");
  maps.source.tokens = {source, source};
  maps.tokens = {target, target};
  const std::int64_t n = std::ssize(source), m = std::ssize(target);
  maps.layers = {slanted(Stack::kEncoder, 0, n, n), slanted(Stack::kDecoder, 0, m, m),
                 slanted(Stack::kCross, 0, m, n), slanted(Stack::kCross, 1, m, n)};
  Page page = of_maps("dates", std::move(maps));
  page.sentences = {{{1, 0, Stack::kCross}, "C1H0 is a Gaussian at 1.7 x position + 0, h 1, explains 90 %"}};
  page.start.head = {0, 1, Stack::kCross};
  return page;
}

/// A question about an image of 4 x 4 patches, beside the image in the source.
Page pictured() {
  AttentionMaps maps;
  maps.task = "digits-question";
  maps.step = 500;
  std::vector<std::string> source = letters_of("ab");
  for (int patch = 0; patch < 16; ++patch) source.emplace_back("patch");
  maps.source.tokens = {source, source};
  maps.tokens = {{"<s>", "1"}, {"<s>", "2"}};
  maps.image = {.rows = 4, .columns = 4, .patch = 2, .first = 2};
  for (int sample = 0; sample < 2; ++sample) {
    std::vector<float>& pixels = maps.image.pixels.emplace_back();
    for (int pixel = 0; pixel < 64; ++pixel) pixels.push_back(pixel % 8 == 3 || pixel % 8 == 4 ? 1.0F : 0.1F);
  }
  maps.layers = {slanted(Stack::kEncoder, 0, 18, 18), slanted(Stack::kCross, 0, 2, 18)};
  Page page = of_maps("digits-question", std::move(maps));
  page.start.head = {0, 1, Stack::kCross};
  return page;
}

void write(const fs::path& folder, const std::string& name, const Page& contents) {
  write_file(folder / (name + ".html"), page(contents));
  if (contents.maps.empty()) return;
  for (std::size_t l = 0; l < contents.maps.back().layers.size(); ++l)
    write_file(folder / fmt::format("{}-{}.npy", name, l), npy(contents.maps.back().layers[l]));
}

void write_all(const fs::path& folder) {
  make_folder(folder);
  write(folder, "full", full());
  write(folder, "orientation",
        of_maps("G13", of_values(1, 3, 3, {1, 0, 0, 0.25F, 0.75F, 0, 0.2F, 0.3F, 0.5F}, {"A", "B", "C"})));
  write(folder, "hostile", hostile());
  write(folder, "one", of_maps("one token", of_values(1, 1, 1, {1.0F}, {"only"})));
  write(folder, "cross",
        of_maps("two queries, four keys",
                of_values(2, 2, 4, {0, 0, 0, 0, 0.1F, 0.2F, 0.3F, 0.4F, NAN, 1, 0, 0, 1.25F, 0, 0, -0.25F},
                          {"a", "b", "c", "d"})));
  write(folder, "translated", translated());
  write(folder, "pictured", pictured());
  write(folder, "large", of_maps("512 tokens", bumps(4, 1, 8, 512, 600)));
  Page none;
  none.title = "no weights";
  none.settings = PageTable{"Settings", "", {"key", "value"}, {{{"a", "b"}}}};
  write(folder, "none", none);
}

}  // namespace
}  // namespace headtorch::report

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  headtorch::report::write_all(argv[1]);
  return 0;
}
