#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "src/probe/head_report.hpp"

namespace headtorch::probe {

// Labels (docs/reading_heads.md). A threshold that uniform weights reach themselves, as on very short inputs,
// labels nothing.
inline constexpr double kUniformEntropy = 0.95;  ///< uniform: normalised entropy above
inline constexpr double kOneHotWeight = 0.95;    ///< one-hot: mean largest weight above
/// identity, previous-token, duplicate-token, induction: score above, and so many times chance (where that is
/// out of reach: kPatternSurely). Rows weighted
/// by their importance where it is known, for induction also on random tokens repeated.
inline constexpr double kPatternScore = 0.7, kPatternTimesChance = 3.0, kPatternSurely = 0.95;
inline constexpr double kSinkExcess = 0.3;            ///< sink: score above chance by
inline constexpr double kLocalMass = 0.9;             ///< local: mass within 3 positions above
inline constexpr double kRedundantDivergence = 0.01;  ///< redundant: similarity below, nats

inline constexpr std::array<std::string_view, 9> kLabels = {"uniform",        "one-hot",         "identity",
                                                            "previous-token", "duplicate-token", "induction",
                                                            "sink",           "local",           "redundant"};

/// Those that hold, in this order: "uniform", "one-hot", "identity", "previous-token", "duplicate-token",
/// "induction", "sink", "local", "redundant".
std::vector<std::string> labels_of(const HeadReport& head);

}  // namespace headtorch::probe
