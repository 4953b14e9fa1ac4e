#include "src/cli/tour_projections.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/report/regression_figure.hpp"
#include "src/report/text.hpp"
#include "train/learned_kernel.hpp"

namespace headtorch::cli {
namespace {

using report::readable;

/// A kernel fitted to the sine, with the curve that it gives.
struct FittedForm {
  train::LearnedKernel kernel;
  double loss = 0;
  report::FitCurve curve;
};

FittedForm fitted_form(const train::NumberRows& rows, const DemoNumbers& numbers, train::KernelForm form,
                       const std::string& name) {
  constexpr std::int64_t kWidth = 4;
  FittedForm result{.kernel = train::fitted(train::new_kernel(form, kWidth, rows, 1), rows, {}), .curve = {}};
  result.loss = train::leave_one_out_loss(result.kernel, rows).loss;
  result.curve = {.label = fmt::format("{}: {}", name, readable(result.loss, 3)),
                  .x = numbers.places,
                  .y = train::predict(result.kernel, rows, numbers.places)};
  return result;
}

report::Matrix form_weights(const FittedForm& form, const DemoNumbers& numbers, std::string title) {
  report::Matrix matrix =
      report::weights_matrix({.places = numbers.places,
                              .x = numbers.x(),
                              .weights = train::weights(form.kernel, numbers.x(), numbers.places)});
  matrix.title = std::move(title);
  return matrix;
}

}  // namespace

Projections learn_projections(const DemoNumbers& numbers) {
  const train::NumberRows rows{.columns = 1, .x = numbers.x(), .y = numbers.y()};
  const FittedForm linear = fitted_form(rows, numbers, train::KernelForm::kLinear, "q, k of (1, x)");
  const FittedForm separate = fitted_form(rows, numbers, train::KernelForm::kSeparate, "q, k of (1, x, x²)");
  const FittedForm gaussian = fitted_form(rows, numbers, train::KernelForm::kGaussian, "Gaussian");
  const double h = std::exp(gaussian.kernel.parameters.front()) * gaussian.kernel.scaling.x_sd.front();
  report::RegressionFigure figure{.y_title = "y", .y = numbers.y()};
  figure.slices = {
      {.x_title = "x", .x = numbers.x(), .curves = {linear.curve, separate.curve, gaussian.curve}}};
  report::Plot fits = report::fit_plot(figure, figure.slices.front());
  fits.title = "fits, with their squared error by leave-one-out";
  return {{readable(linear.loss, 3), readable(separate.loss, 3), readable(gaussian.loss, 3), readable(h, 3)},
          {.title = "Learned projections",
           .rows = {{std::move(fits), form_weights(linear, numbers, "q, k of (1, x)")},
                    {form_weights(separate, numbers, "q, k of (1, x, x²)"),
                     form_weights(gaussian, numbers, fmt::format("Gaussian, h = {}", readable(h, 3)))}}}};
}

}  // namespace headtorch::cli
