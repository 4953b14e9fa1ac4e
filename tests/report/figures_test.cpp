#include "src/report/figures.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Rgb kWhite{255, 255, 255};

/// Nothing touches the page's edge: what was cut off would.
void expect_white_border(const std::string& png) {
  const Picture picture = read_png(png);
  for (int x = 0; x < picture.width; ++x) {
    ASSERT_EQ(picture.at(x, 0), kWhite) << x;
    ASSERT_EQ(picture.at(x, picture.height - 1), kWhite) << x;
  }
  for (int y = 0; y < picture.height; ++y) {
    ASSERT_EQ(picture.at(0, y), kWhite) << y;
    ASSERT_EQ(picture.at(picture.width - 1, y), kWhite) << y;
  }
}

void expect_cells(const Picture& picture, const AttentionMaps& maps, const Panel& panel, double cell) {
  const LayerWeights& layer = maps.layers[0];
  const auto weights = layer.head(0, panel.selection.head);
  for (std::int64_t i = 0; i < layer.queries; ++i) {
    for (std::int64_t j = 0; j < layer.keys; ++j) {
      const double x = panel.data.x + (static_cast<double>(j) + 0.5) * cell;
      const double y = panel.data.y + (static_cast<double>(i) + 0.5) * cell;
      ASSERT_EQ(
          picture.at(x * kDensity, y * kDensity),
          viridis(bar_place(weights[static_cast<std::size_t>(i * layer.keys + j)], ColorRange::kUnit, 1)))
          << i << " " << j;
    }
  }
}

TEST(KernelsFigure, G09_each_head_stands_beside_its_own_kernel) {
  for (const std::int64_t heads : {1, 2, 5, 16}) {
    const AttentionMaps maps = shifted_maps(heads, 6);
    AttentionMaps fitted = maps;
    for (float& value : fitted.layers[0].values) value = 0.5F * value + 0.25F;
    const std::vector<std::string> sentences(static_cast<std::size_t>(heads),
                                             "L0H1 is a mirrored Gaussian, h 0.4, explains 97 % and no more");
    const KernelsLayout layout = layout_kernels(maps, fitted, sentences, {});
    const Picture picture = read_png(draw_kernels(maps, fitted, sentences, {}));
    ASSERT_THAT(layout.pairs, SizeIs(static_cast<std::size_t>(heads)));
    std::vector<Box> boxes = {layout.page.bar};
    for (const KernelPair& pair : layout.pairs) {
      expect_cells(picture, maps, pair.learned, layout.page.cell);
      expect_cells(picture, fitted, pair.fitted, layout.page.cell);
      EXPECT_EQ(pair.learned.data.y, pair.fitted.data.y);
      boxes.push_back(pair.learned.data);
      boxes.push_back(pair.fitted.data);
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_LE(boxes[i].right(), layout.page.size.width);
      EXPECT_LE(boxes[i].bottom(), layout.page.size.height);
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_TRUE(boxes[i].x >= boxes[j].right() || boxes[j].x >= boxes[i].right() ||
                    boxes[i].y >= boxes[j].bottom() || boxes[j].y >= boxes[i].bottom())
            << heads << ": " << i << " and " << j;
      }
    }
    expect_white_border(draw_kernels(maps, fitted, sentences, {}));
  }
}

TEST(KernelsFigure, a_head_without_a_sentence_has_its_number) {
  const AttentionMaps maps = shifted_maps(2, 3);
  const KernelsLayout layout = layout_kernels(maps, maps, {"the first"}, {});
  EXPECT_THAT(layout.pairs[0].sentence, ElementsAre("the first"));
  EXPECT_THAT(layout.pairs[1].sentence, ElementsAre("head 1"));
}

TEST(KernelsFigure, what_does_not_fit_is_refused) {
  const AttentionMaps maps = shifted_maps(2, 3);
  EXPECT_THROW(draw_kernels(maps, shifted_maps(2, 4), {}, {}), ShapeError);
  EXPECT_THROW(draw_kernels(maps, shifted_maps(3, 3), {}, {}), ShapeError);
  EXPECT_THROW(draw_kernels(maps, maps, {}, {.layer = 1}), ConfigError);
}

History sample_history(std::int64_t layers, std::int64_t heads, std::size_t n) {
  History history{.title = "induction", .loss_steps = {}, .loss = {}, .steps = {}, .scores = {}};
  for (std::size_t i = 0; i < 30; ++i) {
    history.loss_steps.push_back(static_cast<double>(i));
    history.loss.push_back(3.0 / static_cast<double>(i + 1));
  }
  for (std::size_t i = 0; i < n; ++i) history.steps.push_back(static_cast<double>(i * 10));
  for (const char* name : {"previous token", "bandwidth"}) {
    ScoreHistory score{.name = name, .heads = {}};
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      for (std::int64_t head = 0; head < heads; ++head) {
        HeadHistory line{.head = {layer, head}, .values = {}};
        for (std::size_t i = 0; i < n; ++i)
          line.values.push_back(i == 1 ? kNone : 0.1 * static_cast<double>(head) + static_cast<double>(i));
        score.heads.push_back(line);
      }
    }
    history.scores.push_back(score);
  }
  return history;
}

TEST(HistoryFigure, every_size_stays_on_its_page) {
  for (const auto& [layers, heads, n] : std::vector<std::tuple<std::int64_t, std::int64_t, std::size_t>>{
           {1, 1, 1}, {2, 2, 5}, {4, 16, 30}, {1, 1, 0}}) {
    const History history = sample_history(layers, heads, n);
    expect_white_border(draw_history(history, Format::kPng));
    EXPECT_EQ(draw_history(history, Format::kSvg), draw_history(history, Format::kSvg));
  }
}

TEST(HistoryFigure, nothing_is_known_yet) {
  expect_white_border(draw_history({.title = std::string(300, 'W')}, Format::kPng));
}

TEST(HistoryFigure, values_without_their_steps_are_refused) {
  History history = sample_history(1, 1, 3);
  history.scores[0].heads[0].values.pop_back();
  EXPECT_THROW(draw_history(history, Format::kPng), ShapeError);
}

TEST(HistoryFigure, a_long_loss_curve_stays_a_small_file) {
  History history{.title = "long"};
  for (int i = 0; i < 100'000; ++i) {
    history.loss_steps.push_back(i);
    history.loss.push_back(std::sin(i));
  }
  EXPECT_LT(draw_history(history, Format::kSvg).size(), 200'000u);
}

probe::ComparisonRow row(std::string name, probe::RowKind kind, std::vector<double> values) {
  return {.name = std::move(name), .kind = kind, .values = std::move(values)};
}

const probe::ComparisonMetric kAccuracy{.name = "token_accuracy", .best_possible = 1.0};

TEST(ComparisonFigure, every_row_kind_and_every_name_stays_on_its_page) {
  const std::vector<probe::ComparisonRow> rows = {
      row("no mixing", probe::RowKind::kNoMixing, {0.1, 0.11, 0.12, 0.1}),
      row(std::string(200, 'W') + "\n", probe::RowKind::kGeneric, {0.3, 0.31, 0.35, 0.2}),
      row("fails", probe::RowKind::kShaped, {0.3, kNone, 0.35, 0.2}),
      row("one learned head", probe::RowKind::kLearned, {1, 1, 1, 1}),
      row("replaced", probe::RowKind::kReplaced, {0.9, 1, 1, 1})};
  const ComparisonFigure figure{.title = "reverse",
                                .verdict = std::string(50, 'a') + " lazy dogs " + std::string(400, 'b')};
  expect_white_border(draw_comparison(rows, kAccuracy, figure));
  EXPECT_EQ(draw_comparison(rows, kAccuracy, figure), draw_comparison(rows, kAccuracy, figure));
  expect_white_border(draw_comparison({}, kAccuracy, {}));
}

TEST(ComparisonFigure, one_seed_one_row_and_no_best_value) {
  const probe::ComparisonMetric loss{
      .name = "loss", .higher_is_better = false, .best_possible = {}, .unit = "nats"};
  expect_white_border(draw_comparison({row("no mixing", probe::RowKind::kNoMixing, {2.5})}, loss, {}));
  expect_white_border(draw_comparison({row("no mixing", probe::RowKind::kNoMixing, {kNone})}, loss, {}));
}

TEST(CurveFigure, one_plot_with_its_legend) {
  const Plot plot{
      .title = "heads removed one by one",
      .x_title = "heads left",
      .y_title = "loss",
      .series = {{.label = "greedy", .x = {4, 3, 2, 1, 0}, .y = {0.1, 0.1, 0.2, 1, 2}, .has_points = true}}};
  expect_white_border(draw_curve(plot, Format::kPng));
  expect_white_border(draw_curve({.title = std::string(120, 'W')}, Format::kPng));
  EXPECT_THAT(draw_curve(plot, Format::kSvg), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace headtorch::report
