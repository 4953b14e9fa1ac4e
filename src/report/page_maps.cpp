#include "src/report/page_maps.hpp"

#include <fmt/format.h>
#include <glib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "src/report/maps.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

using nlohmann::ordered_json;

constexpr int kLargestCode = 254;
constexpr std::uint8_t kNoNumber = 255;

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

std::int64_t cells_of_sample(const AttentionMaps& maps, std::int64_t block = 1) {
  std::int64_t cells = 0;
  for (const LayerWeights& layer : maps.layers)
    cells += layer.heads * blocks(layer.queries, block) * blocks(layer.keys, block);
  return cells;
}

std::int64_t samples_of(const AttentionMaps& maps) { return maps.layers.front().samples; }

struct Range {
  double low = 0.0, high = 1.0;
};

Range range_of(const LayerWeights& layer) {
  Range range;
  for (const float weight : layer.values) {
    if (!std::isfinite(weight)) continue;
    if (weight < -kWeightTolerance) range.low = std::min(range.low, double{weight});
    if (weight > 1.0 + kWeightTolerance) range.high = std::max(range.high, double{weight});
  }
  return range;
}

std::uint8_t code_of(double weight, const Range& range) {
  if (!std::isfinite(weight)) return kNoNumber;
  const double share = std::clamp((weight - range.low) / (range.high - range.low), 0.0, 1.0);
  return static_cast<std::uint8_t>(std::lround(std::pow(share, 1.0 / kCodePower) * kLargestCode));
}

/// The code nearest to each share of the range, by a table: pow would take most of the time of a large page.
class Coder {
 public:
  explicit Coder(const Range& range) : range_(range) {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(table_.size() - 1);
      table_[i] = code_of(range.low + share * (range.high - range.low), range);
    }
  }

  std::uint8_t operator()(float weight) const {
    if (!std::isfinite(weight)) return kNoNumber;
    const double share = std::clamp((weight - range_.low) / (range_.high - range_.low), 0.0, 1.0);
    return share < kFine ? code_of(weight, range_)
                         : table_[static_cast<std::size_t>(
                               std::lround(share * static_cast<double>(table_.size() - 1)))];
  }

 private:
  static constexpr double kFine = 0.002;  // below, a step of the table is wider than a step of the code
  Range range_;
  std::array<std::uint8_t, 65536> table_;
};

/// [heads, queries, keys] of the first samples, blocks joined.
std::string codes_of(const LayerWeights& layer, std::int64_t samples, std::int64_t block,
                     const Range& range) {
  const Coder coder(range);
  const std::int64_t rows = blocks(layer.queries, block), columns = blocks(layer.keys, block);
  std::string codes(static_cast<std::size_t>(samples * layer.heads * rows * columns), '\0');
  std::size_t at = 0;
  for (std::int64_t head = 0; head < samples * layer.heads; ++head) {
    for (std::int64_t query = 0; query < layer.queries; ++query) {
      const std::int64_t row = head * rows + query / block;
      for (std::int64_t key = 0; key < layer.keys; ++key) {
        char& cell = codes[static_cast<std::size_t>(row * columns + key / block)];
        cell = static_cast<char>(std::max(static_cast<std::uint8_t>(cell), coder(layer.values[at++])));
      }
    }
  }
  return codes;
}

std::vector<std::vector<std::string>> shown_tokens(const SequenceLabels& labels, const PatchedImage* image,
                                                   std::int64_t samples, std::int64_t block) {
  std::vector<std::vector<std::string>> shown(static_cast<std::size_t>(samples));
  for (std::size_t sample = 0; sample < shown.size() && sample < labels.tokens.size(); ++sample) {
    const std::vector<std::string> tokens = with_patches(labels.tokens[sample], image);
    for (std::size_t i = 0; i < tokens.size(); i += static_cast<std::size_t>(block))
      shown[sample].push_back(block == 1 ? visible(tokens[i])
                                         : fmt::format("{}: {} …", i, visible(tokens[i])));
  }
  return shown;
}

/// Null where the layers have no image, or cells stand for more than one patch.
ordered_json image_document(const AttentionMaps& maps, std::int64_t samples, std::int64_t block) {
  const PatchedImage& image = maps.image;
  if (image.rows == 0 || block > 1) return nullptr;
  ordered_json pixels = ordered_json::array();
  for (std::size_t sample = 0; sample < std::min(image.pixels.size(), static_cast<std::size_t>(samples));
       ++sample) {
    std::string bytes;
    for (const float grey : image.pixels[sample]) {
      bytes += static_cast<char>(std::lround(255.0F * std::clamp(grey, 0.0F, 1.0F)));
    }
    pixels.push_back(base64(bytes));
  }
  return {{"rows", image.rows},
          {"columns", image.columns},
          {"patch", image.patch},
          {"first", image.first},
          {"pixels", std::move(pixels)}};
}

ordered_json document_of(const AttentionMaps& maps, std::int64_t samples, std::int64_t block) {
  ordered_json layers = ordered_json::array();
  bool has_source = false;
  for (const LayerWeights& layer : maps.layers) {
    const Range range = range_of(layer);
    has_source = has_source || keys_are_source(layer.stack);
    layers.push_back({{"name", layer_name(layer.stack, layer.layer)},
                      {"title", layer_title(layer.stack, layer.layer)},
                      {"rows", &query_labels(maps, layer.stack) == &maps ? "tokens" : "source"},
                      {"columns", &key_labels(maps, layer.stack) == &maps ? "tokens" : "source"},
                      {"pictured", key_image(maps, layer.stack) != nullptr},
                      {"heads", layer.heads},
                      {"queries", blocks(layer.queries, block)},
                      {"keys", blocks(layer.keys, block)},
                      {"low", range.low},
                      {"high", range.high},
                      {"codes", base64(codes_of(layer, samples, block, range))}});
  }
  const PatchedImage* own_image = has_source ? nullptr : query_image(maps, Stack::kSelf);
  ordered_json document = {{"step", maps.step},
                           {"tokens", shown_tokens(maps, own_image, samples, block)},
                           {"layers", std::move(layers)},
                           {"image", image_document(maps, samples, block)}};
  if (has_source) {
    document["source"] = shown_tokens(maps.source, key_image(maps, Stack::kCross), samples, block);
  }
  return document;
}

/// `count` of the first n, evenly spread, ascending; the first among them.
std::vector<std::size_t> spread(std::size_t n, std::size_t count) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(i * n / count);
  return chosen;
}

/// "2 layers of 4 heads, 16 queries by 16 keys"; stacks one after the other.
std::string sizes_text(const AttentionMaps& maps) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < maps.layers.size(); begin = end) {
    const LayerWeights& first = maps.layers[begin];
    while (end < maps.layers.size() && maps.layers[end].stack == first.stack) ++end;
    const std::string stack = first.stack == Stack::kSelf ? "" : fmt::format("{}: ", stack_name(first.stack));
    text +=
        fmt::format("{}{}{} of {}, {} by {}", begin == 0 ? "" : "; ", stack,
                    counted(static_cast<std::int64_t>(end - begin), "layer"), counted(first.heads, "head"),
                    counted(first.queries, "query", "queries"), counted(first.keys, "key"));
  }
  return text;
}

}  // namespace

std::string base64(std::string_view bytes) {
  const std::unique_ptr<gchar, void (*)(gpointer)> text(
      g_base64_encode(reinterpret_cast<const guchar*>(bytes.data()), bytes.size()), g_free);
  return text.get();
}

PagePlan plan_page(const std::vector<AttentionMaps>& maps, bool has_kernels) {
  PagePlan plan;
  if (maps.empty()) return plan;
  const std::int64_t last_cells = cells_of_sample(maps.back());
  plan.kernels = has_kernels && 2 * last_cells <= kLargestCells;
  while (cells_of_sample(maps.back(), plan.block) > kLargestCells) ++plan.block;

  const std::int64_t last_cost = (plan.kernels ? 2 : 1) * cells_of_sample(maps.back(), plan.block);
  std::int64_t left = kPageCells - last_cost;
  const auto earlier = maps.size() - 1;
  std::size_t kept = 0;
  if (earlier > 0) {
    const std::int64_t most = cells_of_sample(
        *std::max_element(maps.begin(), maps.end() - 1,
                          [&](const AttentionMaps& a, const AttentionMaps& b) {
                            return cells_of_sample(a, plan.block) < cells_of_sample(b, plan.block);
                          }),
        plan.block);
    kept = static_cast<std::size_t>(
        std::clamp<std::int64_t>(left / most, 0, static_cast<std::int64_t>(earlier)));
    left -= static_cast<std::int64_t>(kept) * most;
  }
  plan.moments = spread(earlier, kept);
  plan.moments.push_back(earlier);
  plan.samples.assign(kept, 1);
  const std::int64_t more = std::clamp<std::int64_t>(left / last_cost, 0, samples_of(maps.back()) - 1);
  plan.samples.push_back(1 + more);
  if (kept < earlier || 1 + more < samples_of(maps.back())) return plan;
  left -= more * last_cost;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < earlier; ++i)
    rest += (samples_of(maps[i]) - 1) * cells_of_sample(maps[i], plan.block);
  if (rest <= left) {
    for (std::size_t i = 0; i < earlier; ++i) plan.samples[i] = samples_of(maps[i]);
  }
  return plan;
}

ordered_json maps_document(const std::vector<AttentionMaps>& maps,
                           const std::optional<AttentionMaps>& kernels, const PagePlan& plan) {
  ordered_json moments = ordered_json::array();
  for (std::size_t i = 0; i < plan.moments.size(); ++i)
    moments.push_back(document_of(maps[plan.moments[i]], plan.samples[i], plan.block));
  ordered_json fitted = nullptr;
  if (plan.kernels && kernels) {
    fitted = document_of(*kernels, std::min(plan.samples.back(), samples_of(*kernels)), plan.block);
  }
  return {{"power", kCodePower}, {"moments", std::move(moments)}, {"kernels", std::move(fitted)}};
}

std::vector<std::string> plan_notes(const std::vector<AttentionMaps>& maps, const PagePlan& plan) {
  if (maps.empty()) return {};
  std::vector<std::string> notes;
  const LayerWeights& first = maps.back().layers.front();
  notes.push_back(sizes_text(maps.back()) + ". Weights are before dropout, stored in 8 bits: within 1/255.");
  double low = 0.0, high = 1.0;
  for (const std::size_t moment : plan.moments) {
    for (const LayerWeights& layer : maps[moment].layers) {
      const Range range = range_of(layer);
      low = std::min(low, range.low);
      high = std::max(high, range.high);
    }
  }
  if (low < 0.0 || high > 1.0) {
    notes.push_back(
        fmt::format("Weights lie between {} and {}, which no softmax gives; they are stored within "
                    "1/255 of that range.",
                    readable(low), readable(high)));
  }
  if (plan.moments.size() < maps.size()) {
    notes.push_back(fmt::format("{} of {} stored steps are shown, evenly spread, to keep this file small.",
                                plan.moments.size(), maps.size()));
  }
  const bool cut_before = plan.moments.size() > 1 && plan.samples.front() < samples_of(maps.front());
  if (plan.samples.back() < samples_of(maps.back()) || cut_before) {
    notes.push_back(fmt::format("{} of {} are shown at the last step{}.", plan.samples.back(),
                                counted(samples_of(maps.back()), "stored sample"),
                                cut_before ? ", fewer at the others" : ""));
  }
  if (plan.block > 1) {
    notes.push_back(
        fmt::format("Each cell is the largest weight of {0} × {0}: all {1} × {2} would be too many.",
                    plan.block, first.queries, first.keys));
  }
  return notes;
}

}  // namespace headtorch::report
