#include "src/probe/nearest_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/probe/positional_fit.hpp"

namespace headtorch::probe {
namespace {

// Gaussians that so much of kl_uniform separates from the best after the search are not polished.
constexpr double kPolish = 0.02;

bool is_positional(const HeadKernel& kernel) {
  return kernel.family == KernelFamily::kUniform || kernel.family == KernelFamily::kKey ||
         kernel.family == KernelFamily::kGaussian;
}

KernelFit fit_tokens(const KernelStatistics& statistics, KernelFamily family) {
  const Mixture::Best best = statistics.token_mixture(family, RowWeights::kImportance).best(kTightEps);
  return {.kernel = {.family = family, .eps = best.eps}, .loss = best.loss};
}

/// In cross-attention also the slopes that join the corners: the other sequence may run at another pace.
std::vector<double> slopes_of(const LayerShape& shape) {
  std::vector<double> slopes{1.0, -1.0, 0.0};
  if (!shape.is_self() && shape.queries != shape.keys && shape.queries > 1 && shape.keys > 1) {
    const double pace = static_cast<double>(shape.keys - 1) / static_cast<double>(shape.queries - 1);
    slopes.insert(slopes.end(), {pace, -pace});
  }
  return slopes;
}

std::vector<KernelFit> fit_gaussians(const LayerShape& shape, std::span<const SummedRow> rows,
                                     double kl_uniform) {
  std::vector<KernelFit> fits;
  double least = std::numeric_limits<double>::infinity();
  for (const double slope : slopes_of(shape)) {
    fits.push_back(search_gaussian(rows, slope));
    least = std::min(least, fits.back().loss);
  }
  for (KernelFit& fit : fits) {
    if (fit.loss <= least + kPolish * kl_uniform) fit = polish_gaussian(rows, fit);
  }
  return fits;
}

std::vector<KernelFit> fit_families(const LayerShape& shape, const KernelStatistics& statistics,
                                    std::span<const SummedRow> rows) {
  std::vector<KernelFit> fits = fit_gaussians(shape, rows, statistics.kl_uniform(RowWeights::kImportance));
  fits.insert(fits.begin(), fit_key(rows));
  if (statistics.knows_tokens()) {
    for (const KernelFamily family : {KernelFamily::kSameToken, KernelFamily::kFirstSameToken,
                                      KernelFamily::kLastSameToken, KernelFamily::kInduction}) {
      fits.push_back(fit_tokens(statistics, family));
    }
  }
  return fits;
}

Mixture mixture_of(const HeadKernel& kernel, const KernelStatistics& statistics, RowWeights weights) {
  return is_positional(kernel) ? positional_mixture(statistics.rows(weights), kernel)
                               : statistics.token_mixture(kernel.family, weights);
}

/// KL(A || K) from -sum w A ln K.
double kl(const KernelStatistics& statistics, RowWeights weights, double loss) {
  return std::max(0.0, loss - statistics.mean_entropy(weights));
}

double explained(const KernelStatistics& statistics, RowWeights weights, double loss) {
  const double uniform = statistics.kl_uniform(weights);
  return uniform > 0.0 ? 1.0 - kl(statistics, weights, loss) / uniform
                       : std::numeric_limits<double>::quiet_NaN();
}

double explained_by(const HeadKernel& kernel, const KernelStatistics& statistics) {
  return explained(statistics, RowWeights::kImportance,
                   mixture_of(kernel, statistics, RowWeights::kImportance).loss(kernel.eps));
}

double positional_share(const LayerShape& shape, const KernelStatistics& fit, const KernelStatistics& judge) {
  const std::vector<double> mean = fit.mean_weights();
  const double eps = mean_mixture(fit.rows(RowWeights::kImportance), mean, shape.keys).best(kTightEps).eps;
  return explained(judge, RowWeights::kImportance,
                   mean_mixture(judge.rows(RowWeights::kImportance), mean, shape.keys).loss(eps));
}

/// The best explained by a family of positions, or by one of tokens; at least uniform's 0.
double best_explained(const NearestKernel& nearest, bool positional) {
  double best = 0.0;
  for (const FamilyFit& family : nearest.families) {
    if (is_positional(family.kernel) == positional) best = std::max(best, family.explained);
  }
  return best;
}

std::string nature_of(const NearestKernel& nearest) {
  const double positional = best_explained(nearest, true), content = best_explained(nearest, false);
  if (nearest.positional_share >= kPositionalShare) return "positional";
  const bool by_content = content >= positional + kContentLead;
  return nearest.positional_share <= kContentShare && by_content ? "content" : "mixed";
}

double refitted_alike(HeadKernel kernel, const KernelStatistics& fit, const KernelStatistics& judge) {
  kernel.eps = mixture_of(kernel, fit, RowWeights::kAlike).best(kTightEps).eps;
  return explained(judge, RowWeights::kAlike, mixture_of(kernel, judge, RowWeights::kAlike).loss(kernel.eps));
}

}  // namespace

NearestKernel nearest_kernel(const LayerShape& shape, const KernelStatistics& fit,
                             const KernelStatistics& judge) {
  NearestKernel nearest;
  nearest.held_out = !judge.empty();
  const KernelStatistics& judged = nearest.held_out ? judge : fit;
  nearest.weighted = fit.weighted() && judged.weighted();
  nearest.kl_uniform = nearest.kl = judged.kl_uniform(RowWeights::kImportance);
  nearest.explained = nearest.explained_unweighted = nearest.positional_share =
      std::numeric_limits<double>::quiet_NaN();
  nearest.nature = "uniform";
  if (nearest.kl_uniform < kUniformKl || fit.empty()) return nearest;

  const std::vector<SummedRow> rows = fit.rows(RowWeights::kImportance);
  const double fit_uniform = fit.kl_uniform(RowWeights::kImportance);
  KernelFit best{.kernel = {}, .loss = fit.mean_entropy(RowWeights::kImportance) + fit_uniform};
  for (const KernelFit& candidate : fit_families(shape, fit, rows)) {
    if (candidate.loss < best.loss - kFamilyGain * fit_uniform) best = candidate;
    nearest.families.push_back(
        {.kernel = candidate.kernel, .explained = explained_by(candidate.kernel, judged)});
  }
  // A mean of inputs of other lengths, or of few, can be worse than one of the families.
  nearest.positional_share = std::max(positional_share(shape, fit, judged), best_explained(nearest, true));
  nearest.nature = nature_of(nearest);
  nearest.kernel = best.kernel;
  if (best.kernel.family == KernelFamily::kUniform) {
    nearest.explained = nearest.explained_unweighted = 0.0;
    return nearest;
  }
  const double loss = mixture_of(best.kernel, judged, RowWeights::kImportance).loss(best.kernel.eps);
  nearest.kl = kl(judged, RowWeights::kImportance, loss);
  nearest.explained = explained(judged, RowWeights::kImportance, loss);
  nearest.explained_unweighted = refitted_alike(best.kernel, fit, judged);
  return nearest;
}

}  // namespace headtorch::probe
