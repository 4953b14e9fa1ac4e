#include "src/probe/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/probe/scored.hpp"
#include "src/probe/sides.hpp"

namespace headtorch::probe {
namespace {

bool gap_is_too_small(const ComparisonRow& no_mixing, const ComparisonMetric& metric) {
  const double sign = metric.higher_is_better ? 1.0 : -1.0;
  return std::any_of(no_mixing.values.begin(), no_mixing.values.end(), [&](double value) {
    return !reaches(sign * (*metric.best_possible - value), kSmallestGap);  // true for NaN as well
  });
}

std::string gap_verdict(const ComparisonRow& no_mixing, const ComparisonMetric& metric) {
  const Summary reached = summarise(no_mixing.values);
  if (!std::isfinite(reached.mean)) {
    return "No verdict: the model without mixing gave no number on some seed, so nothing can be measured "
           "against it.";
  }
  return fmt::format(
      "No verdict: a model in which each position sees only itself already reaches {}, where {} is the best "
      "possible. "
      "That leaves nothing for attention to add.",
      range_text(reached), number_text(*metric.best_possible));
}

/// First of all sentences, when a kernel that nothing trains beats a trained one; else empty.
std::string fixed_ahead(const Scores& scores) {
  const std::vector<Scored> fixed = scores.fixed();
  const Scored& leader = best(fixed);
  std::vector<std::string> behind;
  for (const Scored& learned : scores.learned) {
    if (ahead(leader, learned)) {
      behind.push_back(with_skill(learned));
    }
  }
  if (behind.empty()) {
    return {};
  }
  return fmt::format("A fixed kernel is ahead of a learned head here: in {}, {} against {}. ",
                     leader.row->n_layers == 1 ? "one layer" : fmt::format("{} layers", leader.row->n_layers),
                     with_skill(leader), list_text(behind));
}

std::string nothing_solves(const Scores& scores) {
  std::vector<Scored> all = scores.fixed();
  all.insert(all.end(), scores.learned.begin(), scores.learned.end());
  const Scored& closest = *std::min_element(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
    return a.n_solved != b.n_solved ? a.n_solved > b.n_solved : better(a, b);
  });
  return fmt::format(
      "No verdict: nothing solves this task on every seed. Closest is {}, solved on {}. More steps may "
      "settle it.",
      with_skill(closest), solved_text(closest));
}

std::string averaging_is_enough(const Scores& scores) {
  return fmt::format(
      "Averaging is enough: {} solves this task. Which positions a head looks at makes no difference.",
      with_skill(scores.uniform));
}

std::string fixed_is_enough(const Scores& scores) {
  const Scored& generic = best(scores.generic);
  if (generic.solves()) {
    return fmt::format("A fixed kernel is enough: {}, a generic one, solves this task.", with_skill(generic));
  }
  return fmt::format(
      "A fixed kernel is enough: {}, one shaped for this kind of task, solves it. "
      "No generic kernel tried does; the best is {}.",
      with_skill(best(scores.shaped)), with_skill(generic));
}

std::string one_head_is_enough(const Scores& scores, const Scored& one_head) {
  const std::vector<Scored> fixed = scores.fixed();
  const Scored& kernel = best(fixed);
  return fmt::format("One learned head is enough: {} solves this task. {} {}.", with_skill(one_head),
                     ahead(one_head, kernel) ? "It is ahead of every fixed kernel tried; the best is"
                                             : "But it is not clearly ahead of the best fixed kernel tried:",
                     with_skill(kernel));
}

bool no_larger(const ComparisonRow& a, const ComparisonRow& b) {
  return a.n_heads <= b.n_heads && a.n_layers <= b.n_layers;
}

/// What the smallest solving models have more of than one head in one layer.
std::string what_made_the_difference(const std::vector<const Scored*>& smallest,
                                     const std::vector<Scored>& learned) {
  const auto one_of = [](const auto& rows, auto&& test) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto* scored) { return test(*scored->row); });
  };
  const auto layers_only = [](const ComparisonRow& row) { return row.n_heads == 1 && row.n_layers > 1; };
  const auto heads_only = [](const ComparisonRow& row) { return row.n_layers == 1 && row.n_heads > 1; };
  std::vector<const Scored*> tried;
  for (const Scored& scored : learned) {
    tried.push_back(&scored);
  }
  const bool by_layers = one_of(smallest, layers_only), layers_tried = one_of(tried, layers_only);
  const bool by_heads = one_of(smallest, heads_only), heads_tried = one_of(tried, heads_only);
  if (by_layers && by_heads) {
    return "More layers or more heads make the difference: either is enough.";
  }
  if (by_layers) {
    return heads_tried ? "More layers made the difference, more heads in one layer did not."
                       : "More layers made the difference.";
  }
  if (by_heads) {
    return layers_tried ? "More heads in one layer made the difference, more layers did not."
                        : "More heads in one layer made the difference.";
  }
  return layers_tried && heads_tried
             ? "More layers and more heads together made the difference: neither alone solves it."
             : "More layers or more heads made the difference; they were not tried apart.";
}

std::string several_are_needed(const Scores& scores) {
  std::vector<const Scored*> smallest;
  std::vector<std::string> names, unsolved;
  for (const Scored& scored : scores.learned) {
    if (!scored.solves()) {
      unsolved.push_back(with_skill(scored));
      continue;
    }
    const bool beaten = std::any_of(scores.learned.begin(), scores.learned.end(), [&](const Scored& other) {
      return other.solves() && no_larger(*other.row, *scored.row) && !no_larger(*scored.row, *other.row);
    });
    if (!beaten) {
      smallest.push_back(&scored);
      names.push_back(with_skill(scored));
    }
  }
  const std::vector<Scored> fixed = scores.fixed();
  return fmt::format(
      "Several heads or layers are needed: this task is solved by {}, and not by {}. {} The best fixed "
      "kernel tried is {}.",
      fmt::join(names, " or by "), list_text(unsolved), what_made_the_difference(smallest, scores.learned),
      with_skill(best(fixed)));
}

/// "; counted from uniform, 0.311", or nothing where averaging leaves no gap to count from.
std::string selection_text(const Scored& scored, const Sides& sides, const ComparisonMetric& metric) {
  const Summary selection = summarise(skill(*scored.row, *sides.uniform, metric));
  return std::isfinite(selection.mean)
             ? fmt::format("; counted from uniform, {}", number_text(selection.mean))
             : "";
}

/// Lines on the rows that decide nothing.
std::string beside_the_learned(const Sides& sides, const ComparisonMetric& metric) {
  std::string text;
  if (sides.raw_dot != nullptr) {
    const Scored raw = score(*sides.raw_dot, *sides.no_mixing, metric);
    text += fmt::format("\nWithout queries and keys: {}, solved on {}.", with_range(raw), solved_text(raw));
  }
  if (sides.replaced != nullptr && sides.largest != nullptr) {
    const Scored replaced = score(*sides.replaced, *sides.no_mixing, metric);
    text += replaced_text(sides, metric,
                          fmt::format("With {}, skill is {}, solved on {}", sides.replaced->name,
                                      range_text(replaced.summary), solved_text(replaced)),
                          ahead(score(*sides.largest, *sides.no_mixing, metric), replaced));
  }
  return text;
}

/// The numbers under every verdict by skill, one sentence a line.
std::string reasons(const Sides& sides, const Scores& scores, const ComparisonMetric& metric) {
  const std::vector<Scored> fixed = scores.fixed();
  const Scored& kernel = best(fixed);
  std::string text = fmt::format(
      "Skill counts from no mixing, {}, as 0 to the best possible, {}, as 1; solved means at least {} on "
      "every seed.",
      range_text(summarise(sides.no_mixing->values)), number_text(*metric.best_possible), kSolvedSkill);
  text += fmt::format("\nGeneric kernels: best is {}.", with_range(best(scores.generic)));
  text += scores.shaped.empty()
              ? "\nKernels shaped for a task: none was tried."
              : fmt::format("\nKernels shaped for a task: best is {}.", with_range(best(scores.shaped)));
  text +=
      fmt::format("\nBest fixed skill within the families tried: {} ({}){}.",
                  number_text(kernel.summary.mean), kernel.row->name, selection_text(kernel, sides, metric));
  for (const Scored& learned : scores.learned) {
    text += fmt::format("\nLearned: {}, solved on {}{}.", with_range(learned), solved_text(learned),
                        selection_text(learned, sides, metric));
  }
  text += beside_the_learned(sides, metric);
  const std::size_t n_seeds = sides.no_mixing->values.size();
  text += fmt::format("\n{}; in brackets the smallest and the largest.", seeds_text(n_seeds));
  if (n_seeds < kSeedsForInterval) {
    text += fmt::format(" Below {} seeds a difference can be chance.", kSeedsForInterval);
  }
  return text;
}

Verdict decide_by_skill(const Sides& sides, const ComparisonMetric& metric) {
  if (gap_is_too_small(*sides.no_mixing, metric)) {
    return {.outcome = 1,
            .verdict = gap_verdict(*sides.no_mixing, metric),
            .reason = fmt::format("Skill is not defined within {} of the best possible.", kSmallestGap)};
  }
  const Scores scores = score_all(sides, metric);
  const Scored one_head = score(*sides.one_head, *sides.no_mixing, metric);
  const std::vector<Scored> fixed = scores.fixed();
  Verdict verdict;
  std::string words;
  if (scores.uniform.solves()) {
    verdict.outcome = 2;
    words = averaging_is_enough(scores);
  } else if (best(fixed).solves()) {
    verdict.outcome = 3;
    words = fixed_is_enough(scores);
  } else if (one_head.solves()) {
    verdict.outcome = 4;
    words = one_head_is_enough(scores, one_head);
  } else if (best(scores.learned).solves()) {
    verdict.outcome = 5;
    words = several_are_needed(scores);
  } else {
    verdict.outcome = 1;
    words = nothing_solves(scores);
  }
  verdict.verdict = fixed_ahead(scores) + words;
  verdict.reason = reasons(sides, scores, metric);
  return verdict;
}

Verdict decide_baseline_by_skill(const Sides& sides, const ComparisonMetric& metric) {
  if (gap_is_too_small(*sides.no_mixing, metric)) {
    return {.outcome = 1,
            .verdict = gap_verdict(*sides.no_mixing, metric),
            .reason = fmt::format("Skill is not defined within {} of the best possible.", kSmallestGap)};
  }
  const Scores scores = score_all(sides, metric);
  std::vector<Scored> similar;
  for (const Scored& scored : scores.fixed()) {
    if (scored.row->score != "uniform") {
      similar.push_back(scored);
    }
  }
  Verdict verdict{.outcome = 1, .verdict = {}, .reason = reasons(sides, scores, metric)};
  if (scores.uniform.solves()) {
    verdict.outcome = 2;
    verdict.verdict = averaging_is_enough(scores) + " No similarity, and no attention, is needed.";
    return verdict;
  }
  const Scored no_mixing = score(*sides.no_mixing, *sides.no_mixing, metric);
  if (similar.empty() || !ahead(best(similar), no_mixing) || !ahead(best(similar), scores.uniform)) {
    verdict.verdict = similarity_does_not_help(
        similar.empty() ? fmt::format("only {} was tried", with_skill(scores.uniform))
                        : fmt::format("the best kernel tried is {}, beside {}", with_skill(best(similar)),
                                      with_skill(scores.uniform)));
    return verdict;
  }
  const Scored& kernel = best(similar);
  verdict.outcome = kernel.solves() ? 3 : 1;
  verdict.verdict = similarity_helps(
      *kernel.row,
      fmt::format("{} (skill {}, uniform {})",
                  kernel.solves() ? "carries this task" : "helps with this task, without solving it",
                  number_text(kernel.summary.mean), number_text(scores.uniform.summary.mean)));
  return verdict;
}

}  // namespace

Verdict decide(const std::vector<ComparisonRow>& rows, const ComparisonMetric& metric) {
  const Sides sides = sides_of(rows);
  if (sides.one_head == nullptr) {
    throw ConfigError("verdict", "no learned row with one head in one layer, expected one");
  }
  return metric.best_possible ? decide_by_skill(sides, metric) : decide_by_gain(sides, metric);
}

Verdict decide_baseline(const std::vector<ComparisonRow>& rows, const ComparisonMetric& metric) {
  Sides sides = sides_of(rows);
  sides.learned.clear();
  sides.largest = sides.raw_dot = sides.replaced = nullptr;
  return metric.best_possible ? decide_baseline_by_skill(sides, metric)
                              : decide_baseline_by_gain(sides, metric);
}

}  // namespace headtorch::probe
