#include "src/probe/sides.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/core/error.hpp"

namespace headtorch::probe {

std::vector<const ComparisonRow*> Sides::fixed() const {
  std::vector<const ComparisonRow*> rows = generic;
  rows.insert(rows.end(), shaped.begin(), shaped.end());
  return rows;
}

Sides sides_of(const std::vector<ComparisonRow>& rows) {
  constexpr std::string_view kWhere = "verdict";
  Sides sides;
  for (const ComparisonRow& row : rows) {
    if (row.values.size() != rows.front().values.size() || row.values.empty()) {
      throw ConfigError(
          kWhere, fmt::format("row \"{}\" has {} values, expected one a seed, as many as the first row's {}",
                              row.name, row.values.size(), rows.front().values.size()));
    }
    switch (row.kind) {
      case RowKind::kNoMixing:
        sides.no_mixing = &row;
        break;
      case RowKind::kGeneric:
        sides.generic.push_back(&row);
        if (row.score == "uniform" && sides.uniform == nullptr) {
          sides.uniform = &row;
        }
        break;
      case RowKind::kShaped:
        sides.shaped.push_back(&row);
        break;
      case RowKind::kLearned:
        if (row.score == "raw-dot") {
          sides.raw_dot = &row;
          break;
        }
        sides.learned.push_back(&row);
        if (sides.largest == nullptr ||
            row.n_heads * row.n_layers > sides.largest->n_heads * sides.largest->n_layers) {
          sides.largest = &row;
        }
        if (row.n_heads == 1 && row.n_layers == 1) {
          sides.one_head = &row;
        }
        break;
      case RowKind::kReplaced:
        sides.replaced = &row;
        break;
      case RowKind::kReference:
        sides.references.push_back(&row);
        break;
    }
  }
  if (sides.no_mixing == nullptr) {
    throw ConfigError(kWhere, "no row without mixing, expected one where each position sees only itself");
  }
  if (sides.uniform == nullptr) {
    throw ConfigError(kWhere, "no generic row with score \"uniform\", expected one");
  }
  return sides;
}

std::string number_text(double value) {
  // Adding 0 turns a rounded -0.000 into 0.000.
  return std::isfinite(value) ? fmt::format("{:.3f}", std::round(value * 1000) / 1000 + 0.0) : "no number";
}

std::string range_text(const Summary& summary) {
  if (!std::isfinite(summary.mean)) {
    return "no number on some seed";
  }
  return fmt::format("{} ({} to {})", number_text(summary.mean), number_text(summary.min),
                     number_text(summary.max));
}

std::string seeds_text(std::size_t n, std::string_view sample) {
  return fmt::format("{} {}{}", n, sample, n == 1 ? "" : "s");
}

std::string list_text(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "" : i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

Gain gain(const ComparisonRow& row, const ComparisonRow& reference, const ComparisonMetric& metric) {
  std::vector<double> differences;
  for (std::size_t seed = 0; seed < row.values.size(); ++seed) {
    const double more = row.values[seed] - reference.values[seed];
    differences.push_back(metric.higher_is_better ? more : -more);
  }
  return {.row = &row, .summary = summarise(differences)};
}

Gain best_gain(const std::vector<const ComparisonRow*>& rows, const ComparisonRow& reference,
               const ComparisonMetric& metric) {
  Gain best = gain(*rows.front(), reference, metric);
  for (const ComparisonRow* row : rows) {
    const Gain next = gain(*row, reference, metric);
    if (std::isfinite(next.summary.mean) && !(next.summary.mean <= best.summary.mean)) {
      best = next;
    }
  }
  return best;
}

std::string amount(const Gain& gain, const ComparisonMetric& metric) {
  if (!std::isfinite(gain.summary.mean)) {
    return "no number on some seed";
  }
  const std::string unit = metric.unit.empty() ? "" : " " + metric.unit;
  const std::string mean = number_text(gain.summary.mean) + unit;
  return gain.summary.low ? fmt::format("{} (95 % interval {} to {})", mean, number_text(*gain.summary.low),
                                        number_text(*gain.summary.high))
                          : fmt::format("{} ({} to {})", mean, number_text(gain.summary.min),
                                        number_text(gain.summary.max));
}

std::string replaced_text(const Sides& sides, const ComparisonMetric& metric, std::string_view replaced,
                          bool is_more) {
  if (sides.replaced == nullptr || sides.largest == nullptr) {
    return {};
  }
  const Gain lead = gain(*sides.largest, *sides.replaced, metric);
  std::string_view meaning = "The learned model is more than kernels one could have written down.";
  if (!std::isfinite(lead.summary.mean)) {
    meaning = "Whether it is more than kernels one could have written down cannot be said.";
  } else if (!is_more) {
    meaning = "The learned model is not clearly more than kernels one could have written down.";
  }
  return fmt::format("\n{}; {} is ahead by {}, paired by {}. {}", replaced, sides.largest->name,
                     amount(lead, metric), metric.sample, meaning);
}

std::string similarity_helps(const ComparisonRow& kernel, std::string_view how_well) {
  std::string bandwidth;
  if (kernel.bandwidth) {
    bandwidth = fmt::format(", bandwidth about {:g} {}", *kernel.bandwidth,
                            kernel.score == "untrained-gaussian" ? "in units of the layer's input"
                            : kernel.score == "feature-gaussian" ? "standard deviations of x"
                                                                 : "positions");
  }
  return fmt::format("Similarity as in \"{}\" {}{}: attention is likely to gain.", kernel.name, how_well,
                     bandwidth);
}

std::string similarity_does_not_help(std::string_view seen) {
  return fmt::format(
      "Similarity as defined does not help: {}. Another similarity, or more non-linearity, is needed.", seen);
}

}  // namespace headtorch::probe
