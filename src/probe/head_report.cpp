#include "src/probe/head_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/core/error.hpp"
#include "src/core/head_place.hpp"

namespace headtorch::probe {

const Score& HeadReport::score(std::string_view name) const {
  const auto found = std::find_if(scores.begin(), scores.end(),
                                  [name](const NamedScore& score) { return score.name == name; });
  if (found != scores.end()) return found->score;
  std::string known;
  for (const NamedScore& score : scores) known += (known.empty() ? "" : ", ") + score.name;
  throw ConfigError("heads", fmt::format("no score '{}', expected one of {}", name, known));
}

std::string head_name(const HeadReport& head) { return headtorch::head_name(head.place()); }

std::string sentence(const HeadReport& head) {
  const NearestKernel& nearest = head.kernel;
  const std::string name = head_name(head);
  if (nearest.nature == "uniform") {
    return nearest.kl_uniform > 0.0 || head.score("entropy_normalised").rows > 0
               ? name + " is uniform"
               : name + " never has two keys to choose from";
  }
  const std::string little = nearest.kl_uniform < kDoubtfulKl ? " (nearly uniform)" : "";
  if (nearest.kernel.family == KernelFamily::kUniform) {
    return fmt::format("{} is no kernel tried: none explains anything{}", name, little);
  }
  const std::string kernel = describe(nearest.kernel, head.keys, head.stack);
  const std::string explains =
      fmt::format("explains {:.0f} %{}", std::round(100.0 * nearest.explained) + 0.0, little);
  if (nearest.explained >= kIsKernel) return fmt::format("{} is {}, {}", name, kernel, explains);
  if (nearest.explained >= kIsPartly) return fmt::format("{} is partly {}, {}", name, kernel, explains);
  return fmt::format("{} is no kernel tried: {} {}", name, kernel, explains);
}

}  // namespace headtorch::probe
