#include "src/cli/demo_figures.hpp"

#include <fmt/format.h>

#include "src/report/regression_figure.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using report::AxisScale;

report::RegressionFigure sine_figure(const DemoNumbers& numbers) {
  return {.y_title = "y", .y = numbers.y(), .slices = {{.x_title = "x", .x = numbers.x()}}};
}

report::FitCurve curve_of(const DemoNumbers& numbers, const DemoFit& fit, std::string label) {
  return {.label = std::move(label), .x = numbers.places, .y = fit.y};
}

report::Matrix weights_of(const DemoNumbers& numbers, const DemoFit& fit) {
  return report::weights_matrix({.places = numbers.places, .x = numbers.x(), .weights = fit.weights});
}

report::Plot plot_of(const DemoNumbers& numbers, std::vector<report::FitCurve> curves) {
  report::RegressionFigure figure = sine_figure(numbers);
  figure.slices.front().curves = std::move(curves);
  return report::fit_plot(figure, figure.slices.front());
}

/// Against h, with temperature on top and the three bandwidths marked.
report::Plot against_bandwidth(const DemoNumbers& numbers, std::string title, std::string y_title) {
  report::Plot plot{.title = std::move(title),
                    .x_title = "bandwidth h",
                    .y_title = std::move(y_title),
                    .series = {{.colour = report::series_colour(0)}},
                    .x_scale = AxisScale::kLogarithmic,
                    .top_axis = report::TopAxis{.title = "temperature h²", .power = 2}};
  for (const DemoFit& fit : numbers.fits)
    plot.guides.push_back({.x = fit.bandwidth, .text = fmt::format("h = {}", fit.bandwidth)});
  for (const DemoTemperature& one : numbers.temperatures) plot.series[0].x.push_back(one.bandwidth);
  return plot;
}

}  // namespace

report::Panels three_bandwidths_figure(const DemoNumbers& numbers) {
  report::Panels page{
      .title = "Kernel regression of a noisy sine at three bandwidths",
      .subtitle =
          "a prediction is an average of all y, each weighted by how near its x is; a row of the weights "
          "adds up to 1",
      .text = "Too narrow, the curve follows every point; too wide, it is nearly the mean everywhere."};
  for (const DemoFit& fit : numbers.fits) {
    report::Plot plot = plot_of(numbers, {curve_of(numbers, fit, "kernel regression")});
    plot.title = fmt::format("h = {}", fit.bandwidth);
    report::Matrix weights = weights_of(numbers, fit);
    weights.title = fmt::format("weights at h = {}: {} points used on average", fit.bandwidth,
                                report::readable(fit.sharpness.effective_n, 3));
    page.rows.push_back({std::move(plot), std::move(weights)});
  }
  return page;
}

report::Panels temperature_figure(const DemoNumbers& numbers) {
  report::Plot entropy = against_bandwidth(numbers, "entropy of the weights", "entropy, nats");
  report::Plot used =
      against_bandwidth(numbers, "points that take part, 1 / sum of squared weights", "points");
  for (const DemoTemperature& one : numbers.temperatures) {
    entropy.series[0].y.push_back(one.sharpness.entropy);
    used.series[0].y.push_back(one.sharpness.effective_n);
  }
  used.y_scale = AxisScale::kLogarithmic;
  return {.title = "Bandwidth is temperature",
          .subtitle = "the Gaussian kernel at bandwidth h is softmax(-(x - x_i)² / 2 / h²)",
          .rows = {{std::move(entropy), std::move(used)}},
          .text = fmt::format(
              "Cold, one point takes all the weight (entropy 0); hot, all {} share it equally "
              "(entropy ln {} = {:.2f}).",
              numbers.x().size(), numbers.x().size(), std::log(static_cast<double>(numbers.x().size())))};
}

report::Panels choices_figure(const DemoNumbers& numbers) {
  report::SelectionFigure selection{.score_title = "squared error, left out"};
  std::vector<report::FitCurve> curves;
  for (const DemoChoice& choice : numbers.choices)
    curves.push_back(
        curve_of(numbers, choice.fit,
                 fmt::format("{}: h = {}", choice.name, report::readable(choice.fit.bandwidth, 3))));
  const DemoChoice& cv = numbers.choices.front();
  for (const regress::CurvePoint& point : cv.chosen.curve) {
    selection.bandwidth.push_back(point.bandwidth);
    selection.score.push_back(point.score);
  }
  report::Plot valley = report::selection_plot(selection);
  valley.title = "error by leave-one-out, and what each way chooses";
  for (std::size_t i = 0; i < numbers.choices.size(); ++i) {
    const DemoChoice& choice = numbers.choices[i];
    valley.guides.push_back(
        {.x = choice.fit.bandwidth, .text = choice.name, .colour = report::series_colour(i)});
  }
  report::Plot fits = plot_of(numbers, std::move(curves));
  fits.title = "the fits";
  return {.title = "Choosing the bandwidth",
          .subtitle =
              "cv: least leave-one-out error; aicc: least corrected Akaike criterion; rot: rule of thumb; "
              "plug-in: from estimated curvature",
          .rows = {{std::move(valley), std::move(fits)}}};
}

report::Panels dot_product_figure(const DemoNumbers& numbers) {
  report::Panels page{
      .title = "From distance to dot product, with nothing learned",
      .subtitle = "weights of the points at x, and the average of y that they give",
      .rows = {{}, {}},
      .text =
          fmt::format("A raw dot product favours points far out, not points nearby. (x x_i - x_i²/2) / h² is "
                      "the Gaussian's exponent but for a term that is the same for all points: the largest "
                      "difference of any weight from the Gaussian kernel's is {:.1e}.",
                      numbers.identity_difference)};
  for (const auto& [title, fit] : {std::pair{"softmax(x x_i)", &numbers.raw},
                                   {"softmax(z z_i), z = (x - mean) / sd", &numbers.normalised},
                                   {"softmax((x x_i - x_i²/2) / h²), h = 0.5", &numbers.identity}}) {
    report::Plot plot = plot_of(numbers, {curve_of(numbers, *fit, "weighted mean of y")});
    plot.title = title;
    page.rows[0].push_back(std::move(plot));
    page.rows[1].push_back(weights_of(numbers, *fit));
  }
  return page;
}

}  // namespace headtorch::cli
