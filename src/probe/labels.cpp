#include "src/probe/labels.hpp"

#include <algorithm>
#include <string_view>

namespace headtorch::probe {
namespace {

bool above(const Score& score, double threshold) {
  return score.value > threshold && !(score.chance > threshold);
}

bool has_pattern(const Score& score) {
  // Where chance is near a third, as on a few positions, nothing could reach three times as much.
  const double above_chance = std::min(kPatternTimesChance * score.chance, kPatternSurely);
  return score.value > kPatternScore && score.value > above_chance && score.chance < kPatternScore;
}

/// The weighted form where there is one with rows.
bool has_pattern(const HeadReport& head, std::string_view name) {
  const std::string weighted = std::string(name) + "_weighted";
  for (const NamedScore& score : head.scores) {
    if (score.name == weighted && score.score.rows > 0) return has_pattern(score.score);
  }
  return has_pattern(head.score(name));
}

}  // namespace

std::vector<std::string> labels_of(const HeadReport& head) {
  const Score& sink = head.score("sink");
  std::vector<std::string> labels;
  const auto add = [&labels](bool holds, const char* label) {
    if (holds) labels.emplace_back(label);
  };
  add(head.score("entropy_normalised").value > kUniformEntropy, "uniform");
  add(above(head.score("max_weight"), kOneHotWeight), "one-hot");
  add(has_pattern(head, "identity"), "identity");
  add(has_pattern(head, "previous_token"), "previous-token");
  add(has_pattern(head, "duplicate_token"), "duplicate-token");
  add(has_pattern(head, "induction") || has_pattern(head.score("induction")), "induction");
  add(sink.value - sink.chance > kSinkExcess, "sink");
  add(above(head.score("local"), kLocalMass), "local");
  add(head.score("similarity").value < kRedundantDivergence, "redundant");
  return labels;
}

}  // namespace headtorch::probe
