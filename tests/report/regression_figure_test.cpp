#include "src/report/regression_figure.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "src/core/error.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A valley of depth 1 at h = 1 between a plateau of 2 on the right and a wall of 1e6 on the left.
SelectionFigure valley() {
  SelectionFigure figure{.score_title = "score"};
  for (int i = -40; i <= 40; ++i) {
    const double h = std::pow(10.0, i / 20.0);
    figure.bandwidth.push_back(h);
    figure.score.push_back(2 - std::exp(-std::pow(std::log(h), 2)) + 1e6 * std::exp(-h / 0.003));
  }
  figure.chosen = ScoreMinimum{1.0, 1.0};
  return figure;
}

TEST(SelectionFigure, the_valley_is_seen_beside_a_wall) {
  const Plot plot = selection_plot(valley());
  ASSERT_TRUE(plot.y_range);
  EXPECT_LT(plot.y_range->high, 3);
  EXPECT_GT(plot.y_range->high, 2);
  EXPECT_LT(plot.y_range->low, 1);
  EXPECT_THAT(plot.x_title, HasSubstr("cut"));
}

TEST(SelectionFigure, every_minimum_is_marked_and_inside) {
  SelectionFigure figure = valley();
  figure.others = {{0.05, 30.0}, {20.0, 2.0}};
  const Plot plot = selection_plot(figure);
  EXPECT_THAT(plot.guides, SizeIs(3));
  ASSERT_TRUE(plot.y_range);
  EXPECT_GT(plot.y_range->high, 30);
}

TEST(SelectionFigure, all_scores_are_shown_where_none_is_far_off) {
  SelectionFigure figure{.bandwidth = {1, 2, 3}, .score = {3, 1, 2}};
  EXPECT_FALSE(selection_plot(figure).y_range);
  figure.score = {kNone, kNone, kNone};
  EXPECT_FALSE(selection_plot(figure).y_range);
  figure.score = {1e9, 5, 1};  // least at the widest
  const Plot plot = selection_plot(figure);
  ASSERT_TRUE(plot.y_range);
  EXPECT_GT(plot.y_range->high, 5);
  EXPECT_LT(plot.y_range->high, 10);
}

TEST(FitFigure, many_points_are_thinned_and_it_is_said) {
  RegressionFigure figure{.slices = {{}}};
  for (int i = 0; i < 100'000; ++i) {
    figure.y.push_back(i);
    figure.slices[0].x.push_back(i);
  }
  const Plot plot = fit_plot(figure, figure.slices[0]);
  EXPECT_THAT(plot.series[0].x, SizeIs(2000));
  EXPECT_EQ(plot.series[0].label, "data, one of 50");
}

TEST(FitFigure, classes_stand_below_their_probabilities) {
  RegressionFigure figure{.y = {0, 1, 1}, .classes = {"no", "yes"}};
  figure.slices = {{.x = {1, 2, 3}, .curves = {{"no", {1, 2}, {1, 0}}, {"yes", {1, 2}, {0, 1}}}}};
  const Plot plot = fit_plot(figure, figure.slices[0]);
  ASSERT_THAT(plot.series, SizeIs(4));
  EXPECT_THAT(plot.series[0].x, ElementsAre(1));
  EXPECT_THAT(plot.series[1].x, ElementsAre(2, 3));
  EXPECT_LT(plot.series[1].y[0], 0);
  EXPECT_EQ(plot.series[0].colour, plot.series[2].colour);
  EXPECT_EQ(plot.series[1].colour, plot.series[3].colour);
  ASSERT_TRUE(plot.y_range);
  EXPECT_LT(plot.y_range->low, plot.series[1].y[0]);
}

TEST(FitFigure, an_interval_is_a_band_in_the_pale_colour_of_its_curve) {
  RegressionFigure figure{.y = {1},
                          .slices = {{.x = {1}, .curves = {{"a", {0, 1}, {2, 3}, {1, 2}, {3, 4}}}}}};
  const Plot plot = fit_plot(figure, figure.slices[0]);
  ASSERT_THAT(plot.bands, SizeIs(1));
  EXPECT_EQ(plot.bands[0].colour, pale(plot.series[1].colour));
  figure.slices[0].curves[0].high.pop_back();
  EXPECT_THROW(fit_plot(figure, figure.slices[0]), ShapeError);
}

TEST(WeightsFigure, columns_follow_x) {
  WeightsFigure figure{.places = {0, 1}, .x = {3, 1, 2}, .weights = {0.3, 0.1, 0.6, 0.5, 0.2, 0.3}};
  const Matrix matrix = weights_matrix(figure);
  EXPECT_THAT(matrix.values, ElementsAre(0.1, 0.6, 0.3, 0.2, 0.3, 0.5));
  EXPECT_THAT(matrix.column_marks, Each(Field(&AxisMark::value, testing::Le(3.0))));
}

TEST(WeightsFigure, one_bright_row_does_not_make_the_rest_dark) {
  WeightsFigure figure{.x = {1, 2}};
  for (int i = 0; i < 50; ++i) {
    figure.places.push_back(i);
    figure.weights.insert(figure.weights.end(), {0.01, 0.02});
  }
  figure.weights[0] = 0.9;
  const Matrix matrix = weights_matrix(figure);
  ASSERT_TRUE(matrix.range);
  EXPECT_EQ(matrix.range->high, 0.02);
  EXPECT_THAT(matrix.bar_title, HasSubstr("0.9"));
}

}  // namespace
}  // namespace headtorch::report
