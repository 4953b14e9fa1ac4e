#include "src/probe/scored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headtorch::probe {

bool reaches(double value, double threshold) {
  constexpr double kRounding = 1e-9;
  return value >= threshold - kRounding;
}

Scored score(const ComparisonRow& row, const ComparisonRow& reference, const ComparisonMetric& metric) {
  Scored scored{.row = &row, .skills = skill(row, reference, metric), .summary = {}, .n_solved = 0};
  scored.summary = summarise(scored.skills);
  scored.n_solved = static_cast<std::size_t>(std::count_if(
      scored.skills.begin(), scored.skills.end(), [](double value) { return reaches(value, kSolvedSkill); }));
  return scored;
}

bool ahead(const Scored& a, const Scored& b) {
  return a.summary.min > b.summary.max && reaches(a.summary.mean - b.summary.mean, kAheadBy);
}

bool better(const Scored& a, const Scored& b) {
  if (a.solves() != b.solves()) {
    return a.solves();
  }
  const bool a_known = std::isfinite(a.summary.mean), b_known = std::isfinite(b.summary.mean);
  return a_known != b_known ? a_known : a_known && a.summary.mean > b.summary.mean;
}

std::vector<Scored> Scores::fixed() const {
  std::vector<Scored> all = generic;
  all.insert(all.end(), shaped.begin(), shaped.end());
  return all;
}

Scores score_all(const Sides& sides, const ComparisonMetric& metric) {
  Scores scores;
  const auto of = [&](const std::vector<const ComparisonRow*>& rows) {
    std::vector<Scored> scored;
    for (const ComparisonRow* row : rows) {
      scored.push_back(score(*row, *sides.no_mixing, metric));
    }
    return scored;
  };
  scores.uniform = score(*sides.uniform, *sides.no_mixing, metric);
  scores.generic = of(sides.generic);
  scores.shaped = of(sides.shaped);
  scores.learned = of(sides.learned);
  return scores;
}

const Scored& best(const std::vector<Scored>& rows) {
  return *std::min_element(rows.begin(), rows.end(), better);
}

std::string solved_text(const Scored& scored) {
  return fmt::format("{} of {}", scored.n_solved, seeds_text(scored.skills.size()));
}

std::string with_skill(const Scored& scored) {
  return std::isfinite(scored.summary.mean)
             ? fmt::format("{} (skill {})", scored.row->name, number_text(scored.summary.mean))
             : fmt::format("{} (no skill: a seed gave no number)", scored.row->name);
}

std::string with_range(const Scored& scored) {
  return fmt::format("{}, skill {}", scored.row->name, range_text(scored.summary));
}

std::vector<double> skill(const ComparisonRow& row, const ComparisonRow& reference,
                          const ComparisonMetric& metric) {
  std::vector<double> skills;
  if (!metric.best_possible) {
    return skills;
  }
  const double sign = metric.higher_is_better ? 1.0 : -1.0;
  for (std::size_t seed = 0; seed < std::min(row.values.size(), reference.values.size()); ++seed) {
    const double gap = *metric.best_possible - reference.values[seed];
    const double gained = row.values[seed] - reference.values[seed];
    skills.push_back(reaches(sign * gap, kSmallestGap) && std::isfinite(gained)
                         ? gained / gap
                         : std::numeric_limits<double>::quiet_NaN());
  }
  return skills;
}

}  // namespace headtorch::probe
