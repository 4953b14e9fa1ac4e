#include "src/cli/demo_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/noisy_sine.hpp"

namespace headtorch::cli {
namespace {

constexpr std::uint64_t kSeed = 42;
constexpr std::int64_t kPoints = 80;
constexpr std::size_t kPlaces = 200, kTemperatures = 61;
constexpr double kLow = -1, kHigh = 11, kNarrowest = 0.02, kWidest = 20, kIdentityBandwidth = 0.5;

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Scores of places against points, [places, points].
template <typename Score>
std::vector<double> scores_of(const DemoNumbers& numbers, const Score& score) {
  std::vector<double> scores;
  for (const double place : numbers.places) {
    for (const double point : numbers.x()) scores.push_back(score(place, point));
  }
  return scores;
}

DemoFit fit_of(const DemoNumbers& numbers, std::vector<double> weights, double bandwidth = NAN) {
  DemoFit fit{.bandwidth = bandwidth, .weights = std::move(weights), .y = {}, .sharpness = {}};
  fit.y = regress::weighted_means(fit.weights, numbers.y());
  fit.sharpness = regress::sharpness(fit.weights, numbers.x().size());
  double squares = 0;
  int n = 0;
  for (std::size_t i = 0; i < numbers.places.size(); ++i) {
    if (numbers.places[i] < 0 || numbers.places[i] > 10) continue;
    squares += std::pow(fit.y[i] - std::sin(numbers.places[i]), 2);
    ++n;
  }
  fit.sine_rmse = std::sqrt(squares / n);
  return fit;
}

std::vector<double> gaussian_weights(const DemoNumbers& numbers, double bandwidth) {
  return regress::kernel_weights(numbers.data, regress::Kernel::kGaussian, {bandwidth},
                                 {{.numbers = numbers.places}});
}

void add_temperatures(DemoNumbers& numbers) {
  const std::vector<double> scores =
      scores_of(numbers, [](double place, double point) { return -(place - point) * (place - point) / 2; });
  for (std::size_t i = 0; i < kTemperatures; ++i) {
    const double share = static_cast<double>(i) / (kTemperatures - 1);
    const double h = kNarrowest * std::pow(kWidest / kNarrowest, share);
    const std::vector<double> weights = gaussian_weights(numbers, h);
    numbers.temperatures.push_back({.bandwidth = h,
                                    .temperature = h * h,
                                    .sharpness = regress::sharpness(weights, numbers.x().size()),
                                    .difference = largest_difference(
                                        weights, regress::softmax_rows(scores, numbers.x().size(), h * h))});
  }
}

void add_choices(DemoNumbers& numbers) {
  using regress::Choice;
  for (const auto& [name, choice] : {std::pair{"cv", Choice::kCrossValidation},
                                     {"aicc", Choice::kAicc},
                                     {"rot", Choice::kRuleOfThumb},
                                     {"plug-in", Choice::kPlugIn}}) {
    const regress::ChosenBandwidth chosen = regress::choose_bandwidth(numbers.data, {}, {.choice = choice});
    const double h = chosen.bandwidth.front();
    numbers.choices.push_back({.name = name,
                               .chosen = chosen,
                               .numbers = regress::regression_statistics(numbers.data, {}, chosen.bandwidth),
                               .fit = fit_of(numbers, gaussian_weights(numbers, h), h)});
  }
}

void add_dot_products(DemoNumbers& numbers) {
  const std::size_t n = numbers.x().size();
  const auto softmax = [&](const std::vector<double>& scores) { return regress::softmax_rows(scores, n); };
  const auto points = static_cast<double>(n);
  const double mean = std::accumulate(numbers.x().begin(), numbers.x().end(), 0.0) / points;
  double variance = 0;
  for (const double x : numbers.x()) variance += (x - mean) * (x - mean) / points;
  numbers.raw =
      fit_of(numbers, softmax(scores_of(numbers, [](double place, double point) { return place * point; })));
  numbers.normalised = fit_of(numbers, softmax(scores_of(numbers, [&](double place, double point) {
                                return (place - mean) * (point - mean) / variance;
                              })));
  const double h = kIdentityBandwidth;
  numbers.identity = fit_of(numbers,
                            softmax(scores_of(numbers,
                                              [&](double place, double point) {
                                                return (place * point - point * point / 2) / (h * h);
                                              })),
                            h);
  numbers.identity_difference = largest_difference(numbers.identity.weights, gaussian_weights(numbers, h));
}

}  // namespace

DemoNumbers demo_numbers() {
  train::NoisySine sine = train::noisy_sine(kSeed, kPoints);
  DemoNumbers numbers;
  numbers.data = {.x = {{.numbers = std::move(sine.x)}}, .y = {.numbers = std::move(sine.y)}};
  for (std::size_t i = 0; i < kPlaces; ++i)
    numbers.places.push_back(kLow + (kHigh - kLow) * static_cast<double>(i) / (kPlaces - 1));
  for (const double h : kDemoBandwidths) {
    numbers.fits.push_back(fit_of(numbers, gaussian_weights(numbers, h), h));
    numbers.cv.push_back(regress::regression_statistics(numbers.data, {}, {h}).cv);
  }
  add_temperatures(numbers);
  add_choices(numbers);
  add_dot_products(numbers);
  return numbers;
}

}  // namespace headtorch::cli
