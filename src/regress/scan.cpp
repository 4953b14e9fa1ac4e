#include "src/regress/scan.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>

#include "src/core/error.hpp"

namespace headtorch::regress {
namespace {

constexpr double kAlike = 1e-12;
constexpr int kBits = 30;  // Brent: beyond half of a double's the score does not change
constexpr int kRootBits = 36;
constexpr std::uintmax_t kMostSteps = 60;

class Scan {
 public:
  explicit Scan(const ScanRequest& request) : request_(request) {
    const double range = std::log(request.high / request.low);
    const auto n = static_cast<std::size_t>(std::max(1.0, std::ceil(range / request.step)));
    for (std::size_t i = 0; i <= n; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(n);
      logs_.push_back(std::log(request.low) + range * share);
      const double h = i == 0 ? request.low : i == n ? request.high : std::exp(logs_.back());
      scores_.push_back(score_at(h));
      result_.curve.push_back({h, std::isfinite(scores_.back()) ? scores_.back() : std::nan("")});
    }
  }

  ScanResult run() {
    for (std::size_t first = 0, last = 0; first < scores_.size(); first = last + 1) {
      last = first;
      while (last + 1 < scores_.size() && are_alike(scores_[last + 1], scores_[first])) ++last;
      const bool falls = first == 0 || scores_[first - 1] > scores_[first];
      const bool rises = last + 1 == scores_.size() || scores_[last + 1] > scores_[first];
      if (falls && rises && std::isfinite(scores_[first])) add_minimum(first, last);
    }
    auto& minima = result_.minima;
    std::stable_sort(minima.begin(), minima.end(),
                     [](const Minimum& a, const Minimum& b) { return a.score < b.score; });
    auto& curve = result_.curve;
    for (const Minimum& minimum : minima) {
      if (!minimum.is_at_edge) curve.push_back({minimum.bandwidth[0], minimum.score});
    }
    std::sort(curve.begin(), curve.end(),
              [](const CurvePoint& a, const CurvePoint& b) { return a.bandwidth < b.bandwidth; });
    return std::move(result_);
  }

 private:
  double score_at(double h) const {
    const double score = request_.score(h);
    return std::isnan(score) ? std::numeric_limits<double>::infinity() : score;
  }

  static bool are_alike(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
    return std::abs(a - b) <= kAlike * std::max(std::abs(a), std::abs(b));
  }

  void add_minimum(std::size_t first, std::size_t last) {
    const std::size_t n = scores_.size();
    if (first == 0 || last + 1 == n) {
      const std::size_t end = last + 1 == n ? n - 1 : 0;
      result_.minima.push_back({{result_.curve[end].bandwidth}, scores_[end], true});
      return;
    }
    const std::size_t middle = first + (last - first) / 2;
    Minimum best{{std::exp(logs_[middle])}, scores_[middle], false};
    const double log_h = request_.slope ? root(first - 1, last + 1) : brent(first - 1, last + 1);
    const double h = std::exp(log_h), score = score_at(h);
    if (score <= best.score || are_alike(score, best.score)) best = {{h}, score, false};
    result_.minima.push_back(best);
  }

  double brent(std::size_t low, std::size_t high) const {
    std::uintmax_t steps = kMostSteps;
    return boost::math::tools::brent_find_minima([&](double log_h) { return score_at(std::exp(log_h)); },
                                                 logs_[low], logs_[high], kBits, steps)
        .first;
  }

  double root(std::size_t low, std::size_t high) const {
    const auto slope = [&](double log_h) { return request_.slope(std::exp(log_h)); };
    const double at_low = slope(logs_[low]), at_high = slope(logs_[high]);
    if (!(at_low < 0.0 && at_high > 0.0)) return brent(low, high);
    std::uintmax_t steps = kMostSteps;
    const auto bracket =
        boost::math::tools::toms748_solve(slope, logs_[low], logs_[high], at_low, at_high,
                                          boost::math::tools::eps_tolerance<double>(kRootBits), steps);
    return bracket.first + (bracket.second - bracket.first) / 2;
  }

  const ScanRequest& request_;
  std::vector<double> logs_, scores_;
  ScanResult result_;
};

}  // namespace

ScanResult scan(const ScanRequest& request) { return Scan(request).run(); }

ChosenBandwidth chosen_from(ScanResult found, const char* where) {
  ChosenBandwidth chosen;
  if (found.minima.empty()) throw DataError(where, "no bandwidth has a score: too few rows for it");
  chosen.bandwidth = found.minima[0].bandwidth;
  chosen.score = found.minima[0].score;
  chosen.is_at_edge = found.minima[0].is_at_edge;
  if (chosen.is_at_edge) chosen.edges = {0};
  chosen.minima = std::move(found.minima);
  chosen.curve = std::move(found.curve);
  return chosen;
}

}  // namespace headtorch::regress
