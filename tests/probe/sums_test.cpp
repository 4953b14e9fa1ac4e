#include "src/probe/sums.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/core/philox.hpp"
#include "src/probe/kernel_statistics.hpp"
#include "src/probe/positional_fit.hpp"
#include "tests/support/head_maps.hpp"
#include "tests/support/read_heads.hpp"

namespace headtorch::probe {
namespace {

constexpr double kRounding = 1e-12;  // relative

std::vector<double> uniform_numbers(std::size_t n, std::uint64_t seed) {
  Random random(seed, 0);
  std::vector<double> numbers(n);
  for (double& number : numbers) number = random.uniform();
  return numbers;
}

TEST(Sums, LogarithmsAreThoseOfTheLibrary) {
  const double one = 1.0;
  std::vector<double> arguments{1e-300,
                                std::numeric_limits<double>::min(),
                                0.5,
                                1.0,
                                std::nextafter(1.0, 0.0),
                                std::nextafter(1.0, 2.0),
                                std::sqrt(0.5),
                                std::sqrt(2.0),
                                1e300};
  for (const double number : uniform_numbers(1000, 1)) {
    arguments.insert(arguments.end(), {number, 1.0 + 1e-6 * number, std::exp(-600.0 * number)});
  }
  for (const double x : arguments) {
    const double expected = std::log(x);
    EXPECT_NEAR(log_sum({&one, 1}, {&x, 1}, 1.0, 0.0), expected, 4e-16 * std::abs(expected)) << x;
  }
}

TEST(Sums, EqualDirectLoopsAtAnySize) {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 7U, 100U, 513U}) {
    std::vector<double> mass = uniform_numbers(n, 2);
    const std::vector<double> k0 = uniform_numbers(n, 3);
    if (n > 1) mass[1] = 0.0;
    double sum = 0.0, entropy = 0.0, logarithms = 0.0, first = 0.0, second = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      sum += mass[j];
      if (mass[j] > 0.0) entropy -= mass[j] * std::log(mass[j]);
      logarithms += mass[j] * std::log(0.9 * k0[j] + 0.01);
      const double change = 0.05 - 0.7 * k0[j], ratio = change / (0.7 * k0[j] + 0.2 * change);
      first += mass[j] * ratio;
      second += mass[j] * ratio * ratio;
    }
    const double room = kRounding * static_cast<double>(n + 1);
    EXPECT_NEAR(sum_of(mass), sum, room);
    EXPECT_NEAR(entropy_of(mass), entropy, room);
    EXPECT_NEAR(log_sum(mass, k0, 0.9, 0.01), logarithms, room);
    const RatioSums ratios = ratio_sums(mass, k0, {.scale = 0.7, .uniform = 0.05, .eps = 0.2});
    EXPECT_NEAR(ratios.first, first, room);
    EXPECT_NEAR(ratios.second, second, room * 25.0);  // ratios up to 5
  }
}

TEST(Mixture, ARowIsItsKeysOneByOne) {
  const std::vector<double> mass = uniform_numbers(40, 4), k0 = uniform_numbers(40, 5);
  Mixture row, keys;
  const std::size_t start = row.room(mass.size());
  std::copy(k0.begin(), k0.end(), row.k0(start, k0.size()).begin());
  row.add_row({.mass = mass, .weight = 0.3, .k0 = start, .scale = 0.05, .uniform = 1.0 / 40});
  for (std::size_t j = 0; j < mass.size(); ++j) keys.add(0.3 * mass[j], 0.05 * k0[j], 1.0 / 40);
  for (const double eps : {1e-6, 0.1, 0.9, 1.0}) {
    EXPECT_NEAR(row.loss(eps), keys.loss(eps), kRounding * keys.loss(eps));
  }
  const Mixture::Best best = row.best(kTightEps), expected = keys.best(kTightEps);
  EXPECT_NEAR(best.eps, expected.eps, 1e-10);
  EXPECT_NEAR(best.loss, expected.loss, kRounding * expected.loss);
}

/// -sum over inputs, rows and keys of w A ln K, from the rows of K themselves.
double direct_loss(const AttentionMaps& maps, const HeadKernel& kernel) {
  const std::int64_t tokens = maps.layers[0].keys;
  double sum = 0.0, rows = 0.0;
  for (std::size_t sample = 0; sample < maps.ids.size(); ++sample) {
    const Sight sight = test::sight_of(maps, sample, tokens);
    const std::span<const float> head = maps.layers[0].head(static_cast<std::int64_t>(sample), 0);
    for (std::int64_t query = 0; query < sight.length; ++query) {
      if (sight.visible(query) < 2) continue;
      const std::vector<double> row = kernel_row(kernel, query, tokens, sight, {});
      std::vector<double> weights(head.begin() + query * tokens, head.begin() + (query + 1) * tokens);
      const double total = sum_of(weights);
      for (std::size_t key = 0; key < row.size(); ++key) {
        if (weights[key] > 0.0) sum -= weights[key] / total * std::log(row[key]);
      }
      rows += 1.0;
    }
  }
  return sum / rows;
}

TEST(PositionalMixture, IsTheDirectSumForGaussiansOfAnySlope) {
  const std::vector<test::MapsOptions> all{{.tokens = 24},
                                           {.tokens = 24, .causal = true},
                                           {.tokens = 24, .causal = true, .padded = true},
                                           {.tokens = 24, .padded = true},
                                           {.tokens = 24, .window = 4},
                                           {.tokens = 24, .causal = true, .hidden = 1}};
  for (const test::MapsOptions& options : all) {
    const AttentionMaps maps = test::random_maps(1, 4.0, options);
    const LayerShape shape = shape_of(maps.layers[0]);
    KernelStatistics statistics(shape, {});
    const std::vector<RecordedInput> inputs = recorded_inputs(maps, shape);
    const std::vector<double> entropies(24, 0.0);
    for (std::size_t sample = 0; sample < inputs.size(); ++sample) {
      statistics.add(inputs[sample], maps.layers[0].head(static_cast<std::int64_t>(sample), 0), entropies);
    }
    const std::vector<SummedRow> rows = statistics.rows(RowWeights::kAlike);
    for (const double slope : {1.0, -1.0, 0.0, 1.5}) {
      // Centres among the keys, between them, and far outside; point masses to nearly uniform.
      for (const double offset : {0.0, -1.0, 11.3, 23.0, 40.5, -60.0}) {
        for (const double bandwidth : {0.1, 0.7, 5.0, 96.0}) {
          const HeadKernel kernel = test::gaussian(slope, offset, bandwidth, 0.1);
          const double expected = direct_loss(maps, kernel);
          EXPECT_NEAR(positional_mixture(rows, kernel).loss(0.1), expected, kRounding * expected)
              << kernel_text(kernel);
        }
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::probe
