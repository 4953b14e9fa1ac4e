#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/report/figures.hpp"
#include "src/report/heatmap_style.hpp"
#include "src/report/maps.hpp"
#include "src/report/text.hpp"

namespace headtorch::report {
namespace {

constexpr double kPanelSide = 104;        // about, of a picture's longer side
constexpr std::size_t kMostQueries = 12;  // side by side
constexpr double kBetween = 14, kHeadName = 22, kCaption = 16;
constexpr double kStrongest =
    0.7;  // share of the colour on the patch with the most weight: pixels show through
constexpr Rgb kHeat{235, 92, 20};

/// What one head gives the patches from one query, or from all on average.
struct Look {
  std::vector<double> patches;
  double on_image = 0.0;
};

Look look_of(const LayerWeights& layer, const PatchedImage& image, std::span<const float> head,
             std::span<const std::int64_t> queries) {
  Look look{.patches = std::vector<double>(static_cast<std::size_t>(image.rows * image.columns))};
  for (const std::int64_t query : queries) {
    for (std::size_t patch = 0; patch < look.patches.size(); ++patch) {
      const auto at = static_cast<std::size_t>(query * layer.keys + image.first) + patch;
      const double weight = std::isfinite(head[at]) ? head[at] : 0.0F;
      look.patches[patch] += weight / static_cast<double>(queries.size());
      look.on_image += weight / static_cast<double>(queries.size());
    }
  }
  return look;
}

Rgb mixed(double grey, double share) {
  const auto channel = [&](std::uint8_t heat) {
    const double value = (1.0 - share) * 255.0 * std::clamp(grey, 0.0, 1.0) + share * heat;
    return static_cast<std::uint8_t>(std::lround(value));
  };
  return {channel(kHeat.r), channel(kHeat.g), channel(kHeat.b)};
}

/// Pixels under the colour of their patches; without weights as they are.
std::vector<Rgb> coloured(const PatchedImage& image, std::span<const float> pixels, const Look* look,
                          double largest) {
  const std::int64_t width = image.columns * image.patch;
  std::vector<Rgb> colours;
  for (std::int64_t i = 0; i < std::ssize(pixels); ++i) {
    const std::int64_t patch = i / width / image.patch * image.columns + i % width / image.patch;
    const double weight = look ? look->patches[static_cast<std::size_t>(patch)] : 0.0;
    colours.push_back(mixed(pixels[static_cast<std::size_t>(i)],
                            largest > 0.0 ? kStrongest * std::clamp(weight / largest, 0.0, 1.0) : 0.0));
  }
  return colours;
}

/// A column of panels: queries of one token, or all patches together.
struct Column {
  std::string title;
  std::vector<std::int64_t> queries;
};

std::vector<Column> columns_of(const AttentionMaps& maps, const Selection& selection) {
  const LayerWeights& layer = select(maps, selection);
  const std::vector<std::string> tokens = axis_tokens(maps, selection).query;
  const std::vector<std::int64_t>& lengths = query_labels(maps, layer.stack).lengths;
  const auto sample = static_cast<std::size_t>(selection.sample);
  const std::int64_t rows =
      sample < lengths.size() ? std::min(lengths[sample], layer.queries) : layer.queries;
  const PatchedImage* among = query_image(maps, layer.stack);
  std::vector<Column> columns;
  std::vector<std::int64_t> patches;
  for (std::int64_t query = 0; query < rows; ++query) {
    if (among != nullptr && among->has(query)) {
      patches.push_back(query);
    } else {
      columns.push_back({visible(tokens[static_cast<std::size_t>(query)]), {query}});
    }
  }
  if (columns.empty() && !patches.empty()) columns.push_back({"mean of all patches", patches});
  return columns;
}

std::string shortened(std::string_view text, double width, const TextStyle& style) {
  std::int64_t columns = display_width(text);
  while (columns > 1 && measure(fit(text, columns), style).width > width) --columns;
  return fit(text, columns);
}

void draw_scale(Canvas& canvas, const Box& bar, double largest) {
  constexpr int kSteps = 64;
  std::vector<Rgb> colours;
  for (int i = 0; i < kSteps; ++i) colours.push_back(mixed(0.5, kStrongest * (1.0 - i / (kSteps - 1.0))));
  canvas.cells(bar, kSteps, 1, colours);
  canvas.frame(bar, kFrame, 0.8);
  canvas.text(readable(largest, 2), bar.right() + kBarMark + 3, bar.y, kBarStyle);
  canvas.text("0", bar.right() + kBarMark + 3, bar.bottom(), kBarStyle);
}

}  // namespace

std::string draw_image_maps(const AttentionMaps& maps, const ImageRequest& request) {
  const Selection selection{.layer = request.layer, .head = 0, .sample = request.sample};
  const LayerWeights& layer = select(maps, selection);
  const PatchedImage* image = key_image(maps, layer.stack);
  const auto sample = static_cast<std::size_t>(request.sample);
  if (image == nullptr || sample >= image->pixels.size()) {
    throw ConfigError("image", fmt::format("the keys of {} are no patches of an image",
                                           layer_title(layer.stack, layer.layer)));
  }
  const std::vector<float>& pixels = image->pixels[sample];
  const std::int64_t wide = image->columns * image->patch, high = image->rows * image->patch;
  if (image->patch < 1 || std::ssize(pixels) != wide * high || image->first < 0 ||
      image->first + image->rows * image->columns > layer.keys) {
    throw ShapeError(
        "image",
        fmt::format("{} pixels and {} keys, expected {} x {} pixels and {} keys from {} on", pixels.size(),
                    layer.keys, high, wide, image->rows * image->columns, image->first));
  }

  std::vector<Column> columns = columns_of(maps, selection);
  const std::size_t n_queries = columns.size();
  columns.resize(std::min(n_queries, kMostQueries));
  std::vector<std::vector<Look>> looks;
  double largest = 0.0, least_on_image = 1.0;
  for (std::int64_t head = 0; head < layer.heads; ++head) {
    std::vector<Look>& row = looks.emplace_back();
    for (const Column& column : columns) {
      row.push_back(look_of(layer, *image, layer.head(request.sample, head), column.queries));
      largest = std::max(largest, *std::max_element(row.back().patches.begin(), row.back().patches.end()));
      least_on_image = std::min(least_on_image, row.back().on_image);
    }
  }

  const double pixel = std::max(1.0, std::floor(kPanelSide / static_cast<double>(std::max(wide, high))));
  const Extent panel{pixel * static_cast<double>(wide), pixel * static_cast<double>(high)};
  const bool says_share = least_on_image < 0.995;
  const Extent slot{panel.width + kBetween, panel.height + kBetween + (says_share ? kCaption : 0.0)};
  const std::string title =
      fmt::format("{} · {} · on the image", visible(maps.task), layer_title(layer.stack, layer.layer));
  std::string subtitle =
      fmt::format("step {} · sample {} · a column a query, a row a head", maps.step, request.sample);
  if (n_queries > columns.size()) subtitle += fmt::format(" · the first {} of {}", columns.size(), n_queries);
  const double left = kMargin + kHeadName, top = kMargin + kTitleHeight + kCaption + kPanelGap;
  const double grid_right = left + static_cast<double>(1 + columns.size()) * slot.width;
  const Box bar{grid_right, top, kBarWidth, panel.height};
  const double bar_end = bar.right() + kBarMark + 3 + measure("0.0000", kBarStyle).width + kBarTitle;
  Canvas canvas(request.format,
                {std::ceil(std::max({bar_end, kMargin + measure(title, kTitleStyle).width,
                                     kMargin + measure(subtitle, kSubtitleStyle).width}) +
                           kMargin),
                 std::ceil(top + static_cast<double>(layer.heads) * slot.height - kBetween + kMargin)},
                kDensity);
  canvas.text(title, kMargin, kMargin + 9, kTitleStyle);
  canvas.text(subtitle, kMargin, kMargin + 29, kSubtitleStyle);
  const auto caption = [&](std::string_view text, double x, const TextStyle& style) {
    canvas.text(shortened(text, slot.width - 4, style), x + panel.width / 2, top - kPanelGap - kCaption / 2,
                style, Anchor::kMiddle);
  };
  caption("image", left, kPanelStyle);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    caption(columns[i].title, left + static_cast<double>(i + 1) * slot.width, kHeadStyle);
  }
  for (std::size_t head = 0; head < looks.size(); ++head) {
    const double y = top + static_cast<double>(head) * slot.height;
    canvas.text(fmt::format("head {}", head), kMargin + kHeadName / 2, y + panel.height / 2, kHeadStyle,
                Anchor::kMiddle, Writing::kUp);
    for (std::size_t i = 0; i <= columns.size(); ++i) {
      const Look* look = i == 0 ? nullptr : &looks[head][i - 1];
      const Box box{left + static_cast<double>(i) * slot.width, y, panel.width, panel.height};
      canvas.cells(box, high, wide, coloured(*image, pixels, look, largest));
      canvas.frame(box, kFrame, 0.8);
      if (look == nullptr) continue;
      if (look->on_image > 0.0) {
        const auto most =
            std::max_element(look->patches.begin(), look->patches.end()) - look->patches.begin();
        const double side = pixel * static_cast<double>(image->patch);
        canvas.frame({box.x + side * static_cast<double>(most % image->columns) + 1,
                      box.y + side * static_cast<double>(most / image->columns) + 1, side - 2, side - 2},
                     kHeat, 1.5);
      }
      if (says_share) {
        canvas.text(fmt::format("{:.0f} % on the image", 100.0 * look->on_image), box.x + panel.width / 2,
                    box.bottom() + kCaption / 2, {.size = 9, .colour = kSoftInk}, Anchor::kMiddle);
      }
    }
  }
  draw_scale(canvas, bar, largest);
  canvas.text("attention weight", bar_end - kBarTitle / 2, bar.y + bar.height / 2, kBarStyle, Anchor::kMiddle,
              Writing::kUp);
  return canvas.finish();
}

}  // namespace headtorch::report
