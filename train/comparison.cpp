#include "train/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "src/core/error.hpp"
#include "train/comparison_rows.hpp"
#include "train/row_contest.hpp"
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
  for (std::size_t i = 1; i < options.sizes.size(); ++i) {
    if (options.sizes[i] <= options.sizes[i - 1])
      throw ConfigError(kWhere, fmt::format("sizes {} and {}, expected ascending ones", options.sizes[i - 1],
                                            options.sizes[i]));
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
    if (is_of_rows(config.task.name)) {
      settled_ = row_candidates(config, options);
      grid_ = lag_kernels(config, lag_shape(config, trainings), options.bandwidths);
    } else {
      grid_ = kernel_grid(config, trainings.shape(), options.bandwidths);
      settled_ = {no_mixing_candidate(config), grid_.front()};  // uniform is reported whatever its value
      grid_.erase(grid_.begin());
      if (options.rows == Rows::kAll) {
        settled_.push_back(raw_dot_candidate(config));
        for (Candidate& learned : learned_candidates(config)) settled_.push_back(std::move(learned));
      }
    }
    if (options.rows == Rows::kAll && options.match != Match::kSteps) {
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
    std::erase_if(lines_, [](const std::vector<std::size_t>& line) { return line.empty(); });
    std::size_t n_finalists = 0;
    for (const std::vector<std::size_t>& line : lines_) n_finalists += std::min(line.size(), kFinalists);
    const std::size_t n_rows = settled_.size() + lines_.size() + (replaces() ? 1 : 0);
    n_trainings_ = grid_.size() + n_finalists + n_rows * static_cast<std::size_t>(options.n_seeds);
    trainings.expect(n_trainings_);
  }

  std::size_t n_trainings() const { return n_trainings_; }

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

  /// Kernels over positions say nothing of rows, which have none.
  bool replaces() const { return options_.rows == Rows::kAll && !is_of_rows(config_.task.name); }

  /// What a kernel over the lags of a series is sized by.
  static tasks::TaskShape lag_shape(const RunConfig& config, const Trainings& trainings) {
    for (const RunConfig& form : forms_of(config)) {
      if (form.task.attend == tasks::Attend::kLags) return trainings.shape(form);
    }
    return {};
  }

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
      if (outcome.mae) row.mae.push_back(*outcome.mae);
      if (outcome.r2) row.r2.push_back(*outcome.r2);
      row.seconds += outcome.seconds / static_cast<double>(outcomes.size());
    }
    name_bandwidths(row, outcomes);
    return row;
  }

  /// What the splits chose: their mean is the row's, and the name says from where to where.
  static void name_bandwidths(probe::ComparisonRow& row, std::span<const Outcome> outcomes) {
    std::vector<double> chosen;
    for (const Outcome& outcome : outcomes) {
      if (outcome.bandwidth) chosen.push_back(*outcome.bandwidth);
    }
    if (chosen.empty()) return;
    const probe::Summary summary = probe::summarise(chosen);
    row.bandwidth = summary.mean;
    row.name += fmt::format(", h {:.3g}", summary.min);
    if (summary.max > summary.min) row.name += fmt::format(" to {:.3g}", summary.max);
  }

  const RunConfig& config_;
  const ComparisonOptions& options_;
  Trainings& trainings_;
  std::vector<Candidate> grid_, settled_;
  std::vector<std::vector<std::size_t>> lines_ = {{}, {}};  // generic, shaped: places in grid_
  std::size_t n_trainings_ = 0;
};

/// One comparison: of all training rows, or of so many of them.
struct Round {
  ComparisonOptions options;
  std::unique_ptr<Trainings> trainings;
  std::unique_ptr<Contest> contest;
};

/// Rows known before the test of the last reported seed.
std::int64_t n_known(const RunConfig& config, const ComparisonOptions& options) {
  const tasks::TaskOptions task = task_for(config, options, options.n_seeds);
  return std::ssize(rows_of(task, static_cast<std::uint64_t>(config.train.seed + options.n_seeds)).known);
}

probe::Verdict verdict_of(const std::vector<probe::ComparisonRow>& rows, const ComparisonOptions& options,
                          const probe::ComparisonMetric& metric) {
  return options.rows == Rows::kAll ? probe::decide(rows, metric) : probe::decide_baseline(rows, metric);
}

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
  if (!options.sizes.empty() && !is_of_rows(config.task.name)) {
    throw ConfigError(kWhere, fmt::format("sizes are numbers of rows, and {} has no rows: expected table or "
                                          "series, or no sizes",
                                          config.task.name));
  }
  if (config.task.name == "series" && options.match != Match::kSteps) {
    throw ConfigError(kWhere,
                      "match = parameters or operations with a series, which is read in two forms of "
                      "different size: expected steps");
  }
  std::vector<Round> rounds;  // all are set up first, so that what is refused is refused before any work
  for (std::size_t i = 0; i <= options.sizes.size(); ++i) rounds.push_back({options, nullptr, nullptr});
  std::int64_t before = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    Round& round = rounds[i];
    round.options.n_train = i < options.sizes.size() ? options.sizes[i] : 0;
    round.trainings =
        std::make_unique<Trainings>(config, round.options,
                                    [&progress, &before, n = static_cast<std::int64_t>(rounds.size())](
                                        std::int64_t done, std::int64_t of, const std::string& name) {
                                      if (progress) progress(before + done, n * of, name);
                                    });
    round.contest = std::make_unique<Contest>(config, round.options, *round.trainings);
  }
  Comparison comparison;
  comparison.metric = rounds.back().trainings->metric();
  for (Round& round : rounds) {
    comparison.screened = round.contest->screen();
    comparison.rows = round.contest->report();
    before += static_cast<std::int64_t>(round.contest->n_trainings());
    if (is_of_rows(config.task.name)) {
      for (probe::ComparisonRow& reference : reference_rows(config, round.options))
        comparison.rows.push_back(std::move(reference));
    }
    comparison.verdict = verdict_of(comparison.rows, options, comparison.metric);
    if (options.sizes.empty()) break;
    comparison.sizes.push_back({n_known(config, round.options), comparison.rows, comparison.verdict});
  }
  if (!comparison.sizes.empty() && options.rows == Rows::kAll)
    comparison.overtaking = probe::overtaking(comparison.sizes, comparison.metric);
  comparison.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return comparison;
}

}  // namespace headtorch::train
