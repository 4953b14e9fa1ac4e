#include "train/learned_regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"
#include "src/core/philox.hpp"
#include "train/side_by_side.hpp"

namespace headtorch::train {
namespace {

constexpr KernelForm kForms[] = {KernelForm::kGaussian, KernelForm::kDot,     KernelForm::kStandardDot,
                                 KernelForm::kUnitDot,  KernelForm::kShared,  KernelForm::kLinear,
                                 KernelForm::kSeparate, KernelForm::kNetwork, KernelForm::kHeads};
constexpr std::string_view kNames[] = {"gaussian", "dot",      "dot-standardised", "dot-unit", "shared",
                                       "linear",   "separate", "network",          "heads"};
constexpr double kStarts[] = {1.0, 0.25, 4.0, 0.0625};   // times the rule of thumb
constexpr std::uint64_t kSplitStream = 0x6c6561726eULL;  // "learn"

bool is_drawn(KernelForm form) { return is_learned(form) && form != KernelForm::kGaussian; }

std::int64_t width_for(const NumberRows& rows) { return std::max<std::int64_t>(4, rows.columns + 1); }

double mean_squared(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

double leave_one_out(const LearnedKernel& kernel, const NumberRows& rows) {
  return mean_squared(left_out_values(kernel, rows), rows.y);
}

NumberRows subset(const NumberRows& rows, std::span<const std::int64_t> which) {
  NumberRows part{.columns = rows.columns, .x = {}, .y = {}};
  for (const std::int64_t i : which) {
    const auto first = rows.x.begin() + i * rows.columns;
    part.x.insert(part.x.end(), first, first + rows.columns);
    part.y.push_back(rows.y[static_cast<std::size_t>(i)]);
  }
  return part;
}

struct Split {
  NumberRows train, test;
};

Split split_rows(const NumberRows& rows, std::int64_t number) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.n()));
  std::iota(order.begin(), order.end(), 0);
  Random(static_cast<std::uint64_t>(number), kSplitStream).shuffle(order);
  const auto n_train = static_cast<std::size_t>(rows.n() * 4 / 5);
  const std::span<const std::int64_t> all = order;
  return {subset(rows, all.first(n_train)), subset(rows, all.subspan(n_train))};
}

std::vector<double> bandwidths(const LearnedKernel& gaussian) {
  std::vector<double> h;
  for (std::size_t c = 0; c < gaussian.parameters.size(); ++c)
    h.push_back(std::exp(gaussian.parameters[c]) * gaussian.scaling.x_sd[c]);
  return h;
}

struct Descent {
  LearnedKernel kernel;
  std::vector<Valley> valleys;
};

Descent descend_from_each_start(const NumberRows& rows) {
  Descent best;
  double least = std::numeric_limits<double>::infinity();
  const double rule =
      1.06 * std::pow(static_cast<double>(rows.n()), -1.0 / static_cast<double>(4 + rows.columns));
  for (const double factor : kStarts) {
    LearnedKernel kernel = new_kernel(KernelForm::kGaussian, 1, rows, 0);
    std::fill(kernel.parameters.begin(), kernel.parameters.end(), std::log(factor * rule));
    const std::vector<double> start = bandwidths(kernel);
    kernel = fitted(std::move(kernel), rows, {});
    best.valleys.push_back({start, bandwidths(kernel), leave_one_out(kernel, rows)});
    if (best.valleys.back().loo < least || best.kernel.parameters.empty()) {
      least = best.valleys.back().loo;
      best.kernel = std::move(kernel);
    }
  }
  return best;
}

LearnedKernel fit_form(KernelForm form, const NumberRows& rows, FitOptions fit, std::int64_t seed) {
  if (form == KernelForm::kGaussian) return descend_from_each_start(rows).kernel;
  fit.seed += static_cast<std::uint64_t>(seed);
  return fitted(new_kernel(form, width_for(rows), rows, fit.seed), rows, fit);
}

/// One fit: of a form on all rows from a seed, or on a split.
struct Job {
  std::size_t row = 0;
  std::int64_t number = 0;
  bool is_split = false;
};

void compare_with_gaussian(std::vector<LearnedRow>& rows, double n_test, double n_train) {
  for (LearnedRow& row : rows) {
    row.held_out_mean = probe::summarise(row.held_out).mean;
    if (row.form == KernelForm::kGaussian || row.held_out.size() < 2) continue;
    std::vector<double> differences;
    for (std::size_t r = 0; r < row.held_out.size(); ++r)
      differences.push_back(row.held_out[r] - rows.front().held_out[r]);
    row.against_gaussian = paired_difference(differences, n_test, n_train);
  }
}

}  // namespace

std::string_view name_of(KernelForm form) { return kNames[static_cast<std::size_t>(form)]; }

bool is_learned(KernelForm form) {
  return form != KernelForm::kDot && form != KernelForm::kStandardDot && form != KernelForm::kUnitDot;
}

PairedDifference paired_difference(const std::vector<double>& differences, double n_test, double n_train) {
  const auto n = static_cast<double>(differences.size());
  if (differences.size() < 2) throw ConfigError("splits", fmt::format("{}, expected at least 2", n));
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / n;
  double squares = 0.0;
  for (const double d : differences) squares += (d - mean) * (d - mean);
  const double half = probe::student_t_95(std::ssize(differences) - 1) *
                      std::sqrt((1.0 / n + n_test / n_train) * squares / (n - 1.0));
  return {mean, mean - half, mean + half};
}

void check_learnable(const NumberRows& rows) {
  if (rows.n() < kFewestLearnRows)
    throw DataError("--learn", fmt::format("{} rows, expected at least {}: a fifth of them is held out",
                                           rows.n(), kFewestLearnRows));
  if (rows.n() > kMostLearnRows)
    throw ConfigError("--learn", fmt::format("{} rows, expected at most {}: every row is weighed against "
                                             "every other at each step; give it a sample",
                                             rows.n(), kMostLearnRows));
}

LearnedRegression learn_regression(const NumberRows& rows, const LearnOptions& options) {
  check_learnable(rows);
  std::vector<Split> splits;
  for (std::int64_t r = 0; r < options.splits; ++r) splits.push_back(split_rows(rows, r));

  LearnedRegression result;
  std::vector<Job> jobs;
  std::vector<std::vector<LearnedKernel>> kernels;
  for (const KernelForm form : kForms) {
    const auto n_seeds = static_cast<std::size_t>(is_drawn(form) ? options.seeds : 1);
    result.rows.push_back({.form = form,
                           .loo = std::vector<double>(n_seeds),
                           .loo_summary = {},
                           .held_out = std::vector<double>(splits.size()),
                           .against_gaussian = {},
                           .kernel = {}});
    kernels.emplace_back(n_seeds);
    const std::size_t row = result.rows.size() - 1;
    for (std::size_t s = 0; s < n_seeds; ++s) jobs.push_back({row, static_cast<std::int64_t>(s), false});
    for (std::size_t r = 0; r < splits.size(); ++r) jobs.push_back({row, static_cast<std::int64_t>(r), true});
  }
  std::reverse(jobs.begin(), jobs.end());  // the longest first

  run_side_by_side(std::ssize(jobs), options.n_threads, [&](std::int64_t number) {
    const Job& job = jobs[static_cast<std::size_t>(number)];
    LearnedRow& row = result.rows[job.row];
    const auto place = static_cast<std::size_t>(job.number);
    if (job.is_split) {
      const Split& split = splits[place];
      const LearnedKernel kernel = fit_form(row.form, split.train, options.fit, job.number);
      row.held_out[place] = mean_squared(predict(kernel, split.train, split.test.x), split.test.y);
    } else if (row.form == KernelForm::kGaussian) {
      Descent descent = descend_from_each_start(rows);
      result.valleys = std::move(descent.valleys);
      kernels[job.row][place] = std::move(descent.kernel);
      row.loo[place] = leave_one_out(kernels[job.row][place], rows);
    } else {
      kernels[job.row][place] = fit_form(row.form, rows, options.fit, job.number);
      row.loo[place] = leave_one_out(kernels[job.row][place], rows);
    }
  });

  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    LearnedRow& row = result.rows[i];
    row.loo_summary = probe::summarise(row.loo);
    const auto best = std::min_element(row.loo.begin(), row.loo.end()) - row.loo.begin();
    row.kernel = std::move(kernels[i][static_cast<std::size_t>(best)]);
  }
  const auto n_train = static_cast<double>(rows.n() * 4 / 5);
  compare_with_gaussian(result.rows, static_cast<double>(rows.n()) - n_train, n_train);
  result.bandwidth = bandwidths(result.rows.front().kernel);
  result.identity_difference =
      identity_difference(rows, std::exp(result.rows.front().kernel.parameters.front()));
  return result;
}

std::vector<LocalKernel> local_kernels(const LearnedKernel& kernel, const NumberRows& rows,
                                       const std::vector<double>& places) {
  constexpr std::int64_t kGrid = 2001;
  const auto [low, high] = std::minmax_element(rows.x.begin(), rows.x.end());
  std::vector<double> grid;
  for (std::int64_t g = 0; g < kGrid; ++g)
    grid.push_back(*low + (*high - *low) * static_cast<double>(g) / static_cast<double>(kGrid - 1));
  const std::vector<double> all = weights(kernel, grid, places);
  std::vector<LocalKernel> local;
  for (std::size_t t = 0; t < places.size(); ++t) {
    const std::span<const double> w = std::span(all).subspan(t * grid.size(), grid.size());
    if (*std::min_element(w.begin(), w.end()) < 0.0) {
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      local.push_back({kNone, kNone});
      continue;
    }
    double total = 0.0, first = 0.0, second = 0.0;
    for (std::size_t g = 0; g < grid.size(); ++g) {
      const double from_place = grid[g] - places[t];
      total += w[g];
      first += w[g] * from_place;
      second += w[g] * from_place * from_place;
    }
    const double shift = first / total;
    local.push_back({places[t] + shift, std::sqrt(std::max(0.0, second / total - shift * shift))});
  }
  return local;
}

}  // namespace headtorch::train
