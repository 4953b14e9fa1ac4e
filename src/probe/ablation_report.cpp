#include "src/probe/ablation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/core/error.hpp"
#include "src/probe/ratio.hpp"

namespace headtorch::probe {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double share(double part, std::int64_t of) { return of > 0 ? part / static_cast<double>(of) : kNone; }

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) rank[order[i]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return rank;
}

}  // namespace

double ExampleResults::mean_loss() const {
  return share(std::accumulate(loss.begin(), loss.end(), 0.0), total(counted));
}

double ExampleResults::token_accuracy() const {
  return share(static_cast<double>(total(right)), total(counted));
}

double ExampleResults::sequence_accuracy() const {
  std::int64_t whole = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) whole += counted[i] == right[i] ? 1 : 0;
  return share(static_cast<double>(whole), std::ssize(counted));
}

Change change(const ExampleResults& before, const ExampleResults& after) {
  if (before.counted != after.counted) {
    throw ShapeError("ablation", fmt::format("{} and {} examples, expected the same ones",
                                             before.counted.size(), after.counted.size()));
  }
  Ratio loss, accuracy;
  for (std::size_t i = 0; i < before.counted.size(); ++i) {
    const auto weight = static_cast<double>(before.counted[i]);
    const auto right = static_cast<double>(after.right[i] - before.right[i]);
    loss.add({.sum = after.loss[i] - before.loss[i], .weight = weight, .rows = before.counted[i]});
    accuracy.add({.sum = right, .weight = weight, .rows = before.counted[i]});
  }
  return {loss.score(), accuracy.score()};
}

std::optional<double> Replaced::behaviour_share() const {
  if (!kernel_replaced || !(uniform.loss.value >= kLeastUniformLoss)) return std::nullopt;
  return 1.0 - kernel_replaced->loss.value / uniform.loss.value;
}

void compare_heads(AblationReport& report) {
  std::vector<double> importance, removal;
  for (const HeadAblation& head : report.heads) {
    importance.push_back(head.importance);
    removal.push_back(head.replaced.removed.loss.value);
  }
  report.importance_correlation = rank_correlation(importance, removal);
  if (report.heads.size() < 2) return;
  const double sum = std::accumulate(removal.begin(), removal.end(), 0.0);
  for (std::size_t i = 0; i < report.heads.size(); ++i) {
    HeadAblation& head = report.heads[i];
    head.random_head = (sum - removal[i]) / static_cast<double>(removal.size() - 1);
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < report.heads.size(); ++other) {
      const double distance = std::abs(report.heads[other].entropy_normalised - head.entropy_normalised);
      if (other == i || !(distance < nearest)) continue;
      nearest = distance;
      head.like_entropy = report.heads[other].place;
      head.like_entropy_loss = removal[other];
    }
  }
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) {
    throw ShapeError("rank_correlation", fmt::format("{} and {} values, expected pairs", a.size(), b.size()));
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (a.size() < 3 || !std::all_of(a.begin(), a.end(), finite) || !std::all_of(b.begin(), b.end(), finite))
    return kNone;
  const std::vector<double> rank_a = ranks(a), rank_b = ranks(b);
  const double mean = 0.5 * static_cast<double>(a.size() - 1);
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (rank_a[i] - mean) * (rank_b[i] - mean);
    aa += (rank_a[i] - mean) * (rank_a[i] - mean);
    bb += (rank_b[i] - mean) * (rank_b[i] - mean);
  }
  return aa > 0.0 && bb > 0.0 ? ab / std::sqrt(aa * bb) : kNone;
}

std::vector<HeadPlace> greedy_order(
    std::vector<HeadPlace> heads, const std::function<double(const std::vector<HeadPlace>& removed)>& loss) {
  std::vector<HeadPlace> removed;
  while (heads.size() > 1) {
    auto cheapest = heads.begin();
    double least = std::numeric_limits<double>::infinity();
    for (auto head = heads.begin(); head != heads.end(); ++head) {
      removed.push_back(*head);
      const double without = loss(removed);
      removed.pop_back();
      if (!(without < least)) continue;
      least = without;
      cheapest = head;
    }
    removed.push_back(*cheapest);
    heads.erase(cheapest);
  }
  removed.insert(removed.end(), heads.begin(), heads.end());
  return removed;
}

}  // namespace headtorch::probe
