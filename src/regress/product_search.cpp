#include "src/regress/product_search.hpp"

#include <algorithm>
#include <cmath>
#include <nlopt.hpp>

namespace headtorch::regress {
namespace {

constexpr int kShortRun = 30, kFullRun = 400;
constexpr std::size_t kFinalists = 4;
constexpr double kSame = 1e-7;      // relative: minima closer in score are one
constexpr double kEdge = 1e-6;      // in ln h
constexpr double kNoScore = 1e300;  // what NLopt is told where there is none

class Search {
 public:
  explicit Search(const ProductSearch& search) : search_(search) {}

  std::vector<Minimum> run() {
    std::vector<Minimum> found;
    for (const auto& start : search_.starts)
      found.push_back(improve({start, score_at(start), false}, kShortRun));
    sort_and_thin(found);
    if (found.size() > kFinalists) found.resize(kFinalists);
    for (Minimum& minimum : found) minimum = finish(minimum);
    sort_and_thin(found);
    for (Minimum& minimum : found) minimum.is_at_edge = !edges(minimum.bandwidth).empty();
    return found;
  }

 private:
  double score_at(const std::vector<double>& bandwidth) const {
    return search_.score(bandwidth, Slopes::kNone).value;
  }

  std::vector<std::size_t> edges(const std::vector<double>& bandwidth) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < bandwidth.size(); ++k) {
      if (std::log(bandwidth[k] / search_.low[k]) < kEdge || std::log(search_.high[k] / bandwidth[k]) < kEdge)
        found.push_back(k);
    }
    return found;
  }

  static void sort_and_thin(std::vector<Minimum>& found) {
    std::stable_sort(found.begin(), found.end(),
                     [](const Minimum& a, const Minimum& b) { return a.score < b.score; });
    const auto end = std::unique(found.begin(), found.end(), [](const Minimum& a, const Minimum& b) {
      return std::abs(a.score - b.score) <= kSame * std::abs(a.score);
    });
    found.erase(end, found.end());
  }

  /// A column that hardly counts goes to its ceiling where that costs nothing; then the others again.
  Minimum finish(Minimum minimum) {
    minimum = improve(minimum, kFullRun);
    Minimum smoothed = minimum;
    for (std::size_t k = 0; k < search_.low.size(); ++k) {
      if (smoothed.bandwidth[k] <= search_.far[k]) continue;
      Minimum tried = smoothed;
      tried.bandwidth[k] = search_.high[k];
      tried.score = score_at(tried.bandwidth);
      if (tried.score <= smoothed.score * (smoothed.score > 0 ? 1 + 1e-6 : 1 - 1e-6)) smoothed = tried;
    }
    smoothed = improve(smoothed, kFullRun);
    return smoothed.score <= minimum.score ? smoothed : minimum;
  }

  Minimum improve(const Minimum& from, int most_evaluations) {
    const auto d = static_cast<unsigned>(search_.low.size());
    const bool smooth = search_.slopes == Slopes::kAll;
    nlopt::opt optimiser(smooth ? nlopt::LD_LBFGS : d > 1 ? nlopt::LN_BOBYQA : nlopt::LN_SBPLX, d);
    const double unit = std::max(std::abs(from.score), 1e-300);
    Minimum best = from;
    std::vector<double> low, high, theta;
    for (std::size_t k = 0; k < d; ++k) {
      low.push_back(std::log(search_.low[k]));
      high.push_back(std::log(search_.high[k]));
      theta.push_back(std::clamp(std::log(from.bandwidth[k]), low[k], high[k]));
    }
    optimiser.set_lower_bounds(low);
    optimiser.set_upper_bounds(high);
    optimiser.set_maxeval(most_evaluations);
    optimiser.set_ftol_rel(most_evaluations == kShortRun ? 1e-6 : 1e-15);
    optimiser.set_xtol_rel(1e-10);
    if (!smooth) optimiser.set_initial_step(0.5);
    auto objective = [&](const std::vector<double>& at, std::vector<double>& slope) {
      std::vector<double> bandwidth;
      for (std::size_t k = 0; k < d; ++k)
        bandwidth.push_back(std::clamp(std::exp(at[k]), search_.low[k], search_.high[k]));
      const Score score = search_.score(bandwidth, slope.empty() ? Slopes::kNone : Slopes::kAll);
      if (score.value < best.score) best = {bandwidth, score.value, false};
      for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = score.slope[k] / unit;
      return std::isfinite(score.value) ? score.value / unit : kNoScore;
    };
    using Objective = decltype(objective);
    optimiser.set_min_objective([](const std::vector<double>& at, std::vector<double>& slope,
                                   void* data) { return (*static_cast<Objective*>(data))(at, slope); },
                                &objective);
    double value = 0.0;
    try {
      optimiser.optimize(theta, value);
    } catch (const nlopt::roundoff_limited&) {  // as good as it gets
    } catch (const std::runtime_error&) {       // L-BFGS found no way down
    }
    return best;
  }

  const ProductSearch& search_;
};

}  // namespace

std::vector<Minimum> search_product(const ProductSearch& search) { return Search(search).run(); }

}  // namespace headtorch::regress
