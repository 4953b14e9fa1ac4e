#include "train/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>

#include "src/core/error.hpp"
#include "train/comparison_rows.hpp"
#include "train/trainings.hpp"

namespace headtorch::train {
namespace {

constexpr std::string_view kWhere = "compare";
constexpr std::int64_t kMostSeeds = 100;
constexpr std::size_t kMostBandwidths = 3;  // keeps the grid within 24
constexpr std::size_t kFinalists = 2;       // of each line

void check_options(const ComparisonOptions& options) {
  if (options.n_seeds < 1 || options.n_seeds > kMostSeeds) {
    throw ConfigError(kWhere, fmt::format("n_seeds = {}, expected 1 to {}", options.n_seeds, kMostSeeds));
  }
  if (options.screen_steps < 1) {
    throw ConfigError(kWhere, fmt::format("screen_steps = {}, expected at least 1", options.screen_steps));
  }
  if (options.bandwidths.size() > kMostBandwidths) {
    throw ConfigError(kWhere, fmt::format("{} bandwidths, expected at most {}", options.bandwidths.size(),
                                          kMostBandwidths));
  }
  for (const double h : options.bandwidths) {
    if (!std::isfinite(h) || h <= 0.0) {
      throw ConfigError(kWhere, fmt::format("bandwidth = {}, expected a number > 0", h));
    }
  }
}

/// Chooses kernels, then trains every row on every reported seed.
class Contest {
 public:
  Contest(const RunConfig& config, const ComparisonOptions& options, Trainings& trainings)
      : config_(config), options_(options), trainings_(trainings) {
    grid_ = kernel_grid(config, trainings.shape(), options.bandwidths);
    settled_ = {no_mixing_candidate(config), grid_.front()};  // uniform is reported whatever its value
    grid_.erase(grid_.begin());
    if (options.rows == Rows::kAll) {
      settled_.push_back(raw_dot_candidate(config));
      for (Candidate& learned : learned_candidates(config)) settled_.push_back(std::move(learned));
      for (std::vector<Candidate>* candidates : {&grid_, &settled_}) {
        for (Candidate& candidate : *candidates)
          match_to(candidate, settled_.back(), options.match, trainings.shape());
      }
    }
    for (const std::vector<Candidate>* candidates : {&grid_, &settled_}) {
      for (const Candidate& candidate : *candidates) check(config_for(candidate, config));
    }
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      lines_[grid_[i].row.kind == probe::RowKind::kShaped ? 1 : 0].push_back(i);
    }
    const std::size_t n_rows = settled_.size() + lines_.size();
    const std::size_t n_replaced = replaces() ? 1 : 0;
    trainings.expect(grid_.size() + kFinalists * lines_.size() +
                     (n_rows + n_replaced) * static_cast<std::size_t>(options.n_seeds));
  }

  /// Every kernel of the grid with few steps, on validation data of the selection seed.
  std::vector<probe::ComparisonRow> screen() {
    std::vector<Job> jobs;
    for (const Candidate& candidate : grid_) {
      jobs.push_back(choosing(candidate, std::min(options_.screen_steps, config_.train.steps)));
    }
    const std::vector<Outcome> outcomes = trainings_.run(jobs);
    std::vector<probe::ComparisonRow> rows;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      rows.push_back(row_of(grid_[i], std::span(outcomes).subspan(i, 1)));
      rows.back().steps = jobs[i].steps;
    }
    for (std::vector<std::size_t>& line : lines_) {
      rank(line, outcomes);
      line.resize(std::min(line.size(), kFinalists));
    }
    return rows;
  }

  /// The rows in the order of Comparison::rows.
  std::vector<probe::ComparisonRow> report() {
    // What does not depend on the choice is trained beside it, so that no core waits.
    std::vector<Job> jobs;
    for (const std::vector<std::size_t>& line : lines_) {
      for (const std::size_t i : line) jobs.push_back(choosing(grid_[i], grid_[i].row.steps));
    }
    const std::size_t n_finalists = jobs.size();
    for (const Candidate& candidate : settled_) add_reporting(candidate, jobs);
    const std::vector<Outcome> outcomes = trainings_.run(jobs);

    std::vector<Outcome> in_full(grid_.size());
    for (std::size_t i = 0; i < n_finalists; ++i) {
      in_full[static_cast<std::size_t>(jobs[i].candidate - grid_.data())] = outcomes[i];
    }
    std::vector<const Candidate*> chosen;
    std::vector<Job> chosen_jobs;
    for (std::vector<std::size_t>& line : lines_) {
      rank(line, in_full);
      chosen.push_back(&grid_[line.front()]);
      add_reporting(*chosen.back(), chosen_jobs);
    }
    const std::vector<Outcome> chosen_outcomes = trainings_.run(chosen_jobs);

    const auto n_seeds = static_cast<std::size_t>(options_.n_seeds);
    std::vector<probe::ComparisonRow> rows;
    for (std::size_t i = 0; i < settled_.size(); ++i) {
      rows.push_back(row_of(settled_[i], std::span(outcomes).subspan(n_finalists + i * n_seeds, n_seeds)));
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      rows.insert(rows.begin() + kNoMixingAndUniform + static_cast<std::ptrdiff_t>(i),
                  row_of(*chosen[i], std::span(chosen_outcomes).subspan(i * n_seeds, n_seeds)));
    }
    if (replaces()) {
      const std::vector<Job> full_jobs(jobs.end() - static_cast<std::ptrdiff_t>(n_seeds), jobs.end());
      const std::vector<Outcome> replaced = trainings_.replace(full_jobs, std::span(outcomes).last(n_seeds));
      rows.push_back(with_outcomes(replaced_row(settled_.back()), replaced));
    }
    return rows;
  }

 private:
  static constexpr std::ptrdiff_t kNoMixingAndUniform = 2;  // rows before the chosen kernels

  bool replaces() const { return options_.rows == Rows::kAll; }

  Job choosing(const Candidate& candidate, std::int64_t steps) const {
    return {.candidate = &candidate, .purpose = Purpose::kChoose, .seed = config_.train.seed, .steps = steps};
  }

  void add_reporting(const Candidate& candidate, std::vector<Job>& jobs) const {
    for (std::int64_t k = 1; k <= options_.n_seeds; ++k) {
      jobs.push_back({.candidate = &candidate,
                      .purpose = Purpose::kReport,
                      .seed = config_.train.seed + k,
                      .steps = candidate.row.steps,
                      .keeps_model = replaces() && &candidate == &settled_.back()});
    }
  }

  /// The best first, NaN last, equals in the order they had.
  void rank(std::vector<std::size_t>& line, const std::vector<Outcome>& outcomes) const {
    std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) {
      const double x = outcomes[a].value, y = outcomes[b].value;
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return trainings_.metric().higher_is_better ? x > y : x < y;
    });
  }

  static probe::ComparisonRow row_of(const Candidate& candidate, std::span<const Outcome> outcomes) {
    return with_outcomes(candidate.row, outcomes);
  }

  static probe::ComparisonRow with_outcomes(probe::ComparisonRow row, std::span<const Outcome> outcomes) {
    row.parameters = outcomes.front().parameters;
    for (const Outcome& outcome : outcomes) {
      row.values.push_back(outcome.value);
      row.seconds += outcome.seconds / static_cast<double>(outcomes.size());
    }
    return row;
  }

  const RunConfig& config_;
  const ComparisonOptions& options_;
  Trainings& trainings_;
  std::vector<Candidate> grid_, settled_;
  std::array<std::vector<std::size_t>, 2> lines_;  // generic, shaped: places in grid_
};

}  // namespace

Comparison compare(
    const RunConfig& config, const ComparisonOptions& options,
    const std::function<void(std::int64_t done, std::int64_t of, const std::string& name)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  check(config);
  if (config.model.family == models::Family::kEncoderDecoder) {
    throw ConfigError("compare",
                      "holds kernels against self-attention, and family = encoder-decoder has two sequences: "
                      "expected a task of one");
  }
  Trainings trainings(config, options, progress);
  Contest contest(config, options, trainings);
  Comparison comparison;
  comparison.metric = trainings.metric();
  comparison.screened = contest.screen();
  comparison.rows = contest.report();
  comparison.verdict = options.rows == Rows::kAll
                           ? probe::decide(comparison.rows, comparison.metric)
                           : probe::decide_baseline(comparison.rows, comparison.metric);
  comparison.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return comparison;
}

}  // namespace headtorch::train
