#include <fmt/format.h>

#include <algorithm>

#include "src/cli/demo_numbers.hpp"
#include "src/cli/json_number.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

using nlohmann::ordered_json;
using report::readable;

ordered_json fit_document(const DemoFit& fit) {
  return {{"bandwidth", json_number(fit.bandwidth)},
          {"entropy", fit.sharpness.entropy},
          {"effective_n", fit.sharpness.effective_n},
          {"sine_rmse", fit.sine_rmse},
          {"values", fit.y}};
}

double largest_difference(const DemoNumbers& numbers) {
  double largest = 0;
  for (const DemoTemperature& one : numbers.temperatures) largest = std::max(largest, one.difference);
  return largest;
}

std::string bandwidths_table(const DemoNumbers& numbers) {
  report::Table table{.headers = {"bandwidth h", "entropy", "points used", "left-out error", "from sin(x)"},
                      .rows = {},
                      .align = {}};
  for (std::size_t i = 0; i < numbers.fits.size(); ++i) {
    const DemoFit& fit = numbers.fits[i];
    table.rows.push_back({fmt::format("{}", fit.bandwidth), readable(fit.sharpness.entropy, 3),
                          readable(fit.sharpness.effective_n, 3), readable(numbers.cv[i], 3),
                          readable(fit.sine_rmse, 3)});
  }
  return report::to_text(table);
}

/// One in ten.
std::string temperatures_table(const DemoNumbers& numbers) {
  report::Table table{.headers = {"bandwidth h", "temperature h^2", "entropy", "points used", "difference"},
                      .rows = {},
                      .align = {}};
  for (std::size_t i = 0; i < numbers.temperatures.size(); i += 10) {
    const DemoTemperature& one = numbers.temperatures[i];
    table.rows.push_back({readable(one.bandwidth, 3), readable(one.temperature, 3),
                          readable(one.sharpness.entropy, 3), readable(one.sharpness.effective_n, 3),
                          fmt::format("{:.1e}", one.difference)});
  }
  return report::to_text(table);
}

std::string choices_table(const DemoNumbers& numbers) {
  report::Table table{
      .headers = {"chosen by", "bandwidth h", "left-out error", "R2", "degrees of freedom", "from sin(x)"},
      .rows = {},
      .align = {}};
  for (const DemoChoice& choice : numbers.choices) {
    table.rows.push_back({choice.name, readable(choice.fit.bandwidth), readable(choice.numbers.cv),
                          readable(choice.numbers.r2_corr), readable(choice.numbers.effective_df),
                          readable(choice.fit.sine_rmse, 3)});
  }
  return report::to_text(table);
}

std::string dot_products_table(const DemoNumbers& numbers) {
  report::Table table{
      .headers = {"weights", "entropy", "points used", "from sin(x)"}, .rows = {}, .align = {}};
  for (const auto& [name, fit] : {std::pair{"softmax(x x_i)", &numbers.raw},
                                  {"softmax(z z_i), z = (x - mean) / sd", &numbers.normalised},
                                  {"softmax((x x_i - x_i^2/2) / h^2), h = 0.5", &numbers.identity}}) {
    table.rows.push_back({name, readable(fit->sharpness.entropy, 3), readable(fit->sharpness.effective_n, 3),
                          readable(fit->sine_rmse, 3)});
  }
  return report::to_text(table);
}

}  // namespace

ordered_json demo_document(const DemoNumbers& numbers) {
  ordered_json fits = ordered_json::array();
  for (std::size_t i = 0; i < numbers.fits.size(); ++i) {
    fits.push_back(fit_document(numbers.fits[i]));
    fits.back()["cv"] = numbers.cv[i];
  }
  ordered_json temperatures = ordered_json::array();
  for (const DemoTemperature& one : numbers.temperatures) {
    temperatures.push_back({{"bandwidth", one.bandwidth},
                            {"temperature", one.temperature},
                            {"entropy", one.sharpness.entropy},
                            {"effective_n", one.sharpness.effective_n},
                            {"difference", one.difference}});
  }
  ordered_json choices = ordered_json::array();
  for (const DemoChoice& choice : numbers.choices) {
    choices.push_back({{"method", choice.name},
                       {"bandwidth", choice.fit.bandwidth},
                       {"cv", choice.numbers.cv},
                       {"r2_corr", choice.numbers.r2_corr},
                       {"effective_df", choice.numbers.effective_df},
                       {"aicc", json_number(choice.numbers.aicc)},
                       {"sine_rmse", choice.fit.sine_rmse}});
  }
  return {{"n", numbers.x().size()},
          {"x", numbers.x()},
          {"y", numbers.y()},
          {"places", numbers.places},
          {"bandwidths", fits},
          {"temperatures", temperatures},
          {"temperature_difference", largest_difference(numbers)},
          {"choices", choices},
          {"dot_product",
           {{"raw", fit_document(numbers.raw)},
            {"normalised", fit_document(numbers.normalised)},
            {"identity", fit_document(numbers.identity)},
            {"identity_difference", numbers.identity_difference}}}};
}

std::string demo_text(const DemoNumbers& numbers) {
  return fmt::format(
      "A noisy sine: {} points, y = sin(x) + 0.2 noise. Entropy in nats; errors are squared where left out,\n"
      "root mean squares where from sin(x).\n\n"
      "Three bandwidths\n\n{}\n"
      "Bandwidth is temperature: the Gaussian kernel at h is softmax(-(x - x_i)^2 / 2 / h^2); largest "
      "difference\n"
      "of any weight {:.1e}\n\n{}\n"
      "Four ways to choose h\n\n{}\n"
      "From distance to dot product, nothing learned: with - x_i^2/2 the dot product is the Gaussian; "
      "largest\n"
      "difference of any weight {:.1e}\n\n{}",
      numbers.x().size(), bandwidths_table(numbers), largest_difference(numbers), temperatures_table(numbers),
      choices_table(numbers), numbers.identity_difference, dot_products_table(numbers));
}

}  // namespace headtorch::cli
