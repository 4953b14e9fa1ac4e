#include <fmt/format.h>

#include <cmath>

#include "src/probe/sides.hpp"

namespace headtorch::probe {
namespace {

std::string named_amount(const Gain& gain, const ComparisonMetric& metric) {
  return fmt::format("{}, {}", gain.row->name, amount(gain, metric));
}

/// How much the best kernel and the best learned model differ from one seed or split to the next; nothing
/// where there is no learned one or only one seed.
std::string steadiness(const Sides& sides, const ComparisonMetric& metric) {
  const ComparisonRow& reference = *sides.no_mixing;
  if (sides.learned.empty() || reference.values.size() < 2) return {};
  const ComparisonRow& kernel = *best_gain(sides.fixed(), reference, metric).row;
  const ComparisonRow& learned = *best_gain(sides.learned, reference, metric).row;
  const Summary of_kernel = summarise(kernel.values), of_learned = summarise(learned.values);
  if (!std::isfinite(of_kernel.mean) || !std::isfinite(of_learned.mean)) return {};
  return fmt::format("\nSteadiness: over {}, {} varied by {} ({} to {}), {} by {} ({} to {}).",
                     seeds_text(reference.values.size(), metric.sample), kernel.name,
                     number_text(of_kernel.max - of_kernel.min), number_text(of_kernel.min),
                     number_text(of_kernel.max), learned.name, number_text(of_learned.max - of_learned.min),
                     number_text(of_learned.min), number_text(of_learned.max));
}

std::string references_text(const Sides& sides) {
  if (sides.references.empty()) return {};
  std::vector<std::string> names;
  for (const ComparisonRow* row : sides.references)
    names.push_back(fmt::format("{} {}", row->name, number_text(summarise(row->values).mean)));
  return fmt::format("\nPlain references, which are no attention and decide nothing: {}.", list_text(names));
}

std::string reasons(const Sides& sides, const ComparisonMetric& metric) {
  const ComparisonRow& reference = *sides.no_mixing;
  std::string text = fmt::format(
      "The best possible value is unknown, so a row counts by its gain over no mixing, {}, paired by {}.",
      range_text(summarise(reference.values)), metric.sample);
  text += fmt::format("\nGeneric kernels: best gain is {}.",
                      named_amount(best_gain(sides.generic, reference, metric), metric));
  text += sides.shaped.empty()
              ? "\nKernels shaped for a task: none was tried."
              : fmt::format("\nKernels shaped for a task: best gain is {}.",
                            named_amount(best_gain(sides.shaped, reference, metric), metric));
  const Gain kernel = best_gain(sides.fixed(), reference, metric);
  text += fmt::format("\nBest fixed gain within the families tried: {} ({}).",
                      number_text(kernel.summary.mean), kernel.row->name);
  for (const ComparisonRow* row : sides.learned) {
    text += fmt::format("\nLearned: {}.", named_amount(gain(*row, reference, metric), metric));
  }
  if (sides.raw_dot != nullptr) {
    text += fmt::format("\nWithout queries and keys: {}.",
                        named_amount(gain(*sides.raw_dot, reference, metric), metric));
  }
  if (sides.replaced != nullptr && sides.largest != nullptr) {
    text += replaced_text(sides, metric,
                          fmt::format("With {}, the gain is {}", sides.replaced->name,
                                      amount(gain(*sides.replaced, reference, metric), metric)),
                          gain(*sides.largest, *sides.replaced, metric).clear());
  }
  text += steadiness(sides, metric) + references_text(sides);
  const std::size_t n_seeds = reference.values.size();
  text += fmt::format("\n{}.", seeds_text(n_seeds, metric.sample));
  if (n_seeds < kSeedsForInterval) {
    text += fmt::format(
        " Below {} {}s brackets hold the smallest and the largest, and a difference can be chance.",
        kSeedsForInterval, metric.sample);
  }
  return text;
}

/// First of all sentences, when a kernel that nothing trains beats a trained one; else empty.
std::string fixed_ahead(const Sides& sides, const Gain& kernel, const ComparisonMetric& metric) {
  std::vector<std::string> behind;
  for (const ComparisonRow* learned : sides.learned) {
    const Gain lead = gain(*kernel.row, *learned, metric);
    if (lead.clear()) {
      behind.push_back(fmt::format("{}, by {}", learned->name, amount(lead, metric)));
    }
  }
  return behind.empty()
             ? ""
             : fmt::format("A fixed kernel is ahead of a learned head here: {} is better than {}. ",
                           kernel.row->name, list_text(behind));
}

/// First of all sentences, when a plain reference is better than every model; else empty.
std::string reference_ahead(const Sides& sides, const ComparisonMetric& metric) {
  if (sides.references.empty()) return {};
  std::vector<const ComparisonRow*> models = sides.fixed();
  models.insert(models.end(), sides.learned.begin(), sides.learned.end());
  models.push_back(sides.no_mixing);
  if (sides.raw_dot != nullptr) models.push_back(sides.raw_dot);
  const ComparisonRow& model = *best_gain(models, *sides.no_mixing, metric).row;
  const ComparisonRow& plain = *best_gain(sides.references, *sides.no_mixing, metric).row;
  const Gain lead = gain(plain, model, metric);
  if (!(lead.summary.mean > 0.0)) return {};
  return fmt::format("A plain reference is ahead: {}, by {} over the best model, {}{}. ", plain.name,
                     amount(lead, metric), model.name, lead.clear() ? "" : ", which may be chance");
}

std::string mixing_does_not_help(const Gain& most, const ComparisonMetric& metric) {
  return fmt::format(
      "Mixing does not help: no model that looks at other positions is clearly better than one that sees "
      "only itself. The largest gain is {}.",
      named_amount(most, metric));
}

}  // namespace

Verdict decide_by_gain(const Sides& sides, const ComparisonMetric& metric) {
  const Gain kernel = best_gain(sides.fixed(), *sides.no_mixing, metric);
  const Gain learned = best_gain(sides.learned, *sides.no_mixing, metric);
  const Gain lead = gain(*learned.row, *kernel.row, metric);
  Verdict verdict{.outcome = 6, .verdict = {}, .reason = reasons(sides, metric)};
  if (!kernel.clear() && !learned.clear()) {
    const bool learned_most =
        !(kernel.summary.mean >= learned.summary.mean) && std::isfinite(learned.summary.mean);
    verdict.verdict = mixing_does_not_help(learned_most ? learned : kernel, metric);
  } else if (kernel.clear() && !lead.clear()) {
    verdict.outcome = 7;
    verdict.verdict = fmt::format(
        "A fixed kernel helps, and learning is not ahead: over no mixing the gain is {}, and the best "
        "learned model has {}. "
        "The learned model's lead is {}.",
        named_amount(kernel, metric), named_amount(learned, metric), amount(lead, metric));
  } else if (lead.clear()) {
    verdict.outcome = 8;
    verdict.verdict = fmt::format(
        "Learning is ahead by {}: over no mixing the gain is {}, and the best fixed kernel has {}.",
        amount(lead, metric), named_amount(learned, metric), named_amount(kernel, metric));
  } else {
    verdict.outcome = 8;
    verdict.verdict = fmt::format(
        "Learning helps, and no fixed kernel clearly does: over no mixing the gain is {}, and the best fixed "
        "kernel has {}. The lead of {} between the two may be chance.",
        named_amount(learned, metric), named_amount(kernel, metric), amount(lead, metric));
  }
  verdict.verdict = reference_ahead(sides, metric) + fixed_ahead(sides, kernel, metric) + verdict.verdict;
  return verdict;
}

Verdict decide_baseline_by_gain(const Sides& sides, const ComparisonMetric& metric) {
  const Gain kernel = best_gain(sides.fixed(), *sides.no_mixing, metric);
  const std::string first = reference_ahead(sides, metric);
  Verdict verdict{.outcome = kernel.clear() ? 7 : 6, .verdict = {}, .reason = reasons(sides, metric)};
  if (!kernel.clear()) {
    verdict.verdict =
        first + similarity_does_not_help("no kernel is clearly better than no mixing; the largest gain is " +
                                         named_amount(kernel, metric));
    return verdict;
  }
  const Gain over_uniform = gain(*kernel.row, *sides.uniform, metric);
  verdict.verdict =
      first +
      (over_uniform.clear()
           ? similarity_helps(*kernel.row,
                              fmt::format("helps with this task (gain over no mixing {}, over uniform {})",
                                          amount(kernel, metric), amount(over_uniform, metric)))
           : similarity_does_not_help(
                 fmt::format("averaging gains {} over no mixing, and the best kernel, {}, adds {} to that",
                             amount(gain(*sides.uniform, *sides.no_mixing, metric), metric), kernel.row->name,
                             amount(over_uniform, metric))));
  return verdict;
}

}  // namespace headtorch::probe
