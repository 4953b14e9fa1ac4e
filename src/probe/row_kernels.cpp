#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/probe/gaussian_search.hpp"
#include "src/probe/nearest_kernel.hpp"
#include "src/probe/positional_fit.hpp"

namespace headtorch::probe {
namespace {

constexpr int kRounds = 3;  // of rows given eps, eps given rows

using RowsByQuery = std::vector<std::vector<SummedRow>>;

RowsByQuery by_query(const LayerShape& shape, std::span<const SummedRow> rows) {
  RowsByQuery grouped(static_cast<std::size_t>(shape.queries));
  for (const SummedRow& row : rows) grouped[static_cast<std::size_t>(row.query)].push_back(row);
  return grouped;
}

Mixture mixture_of(const RowsByQuery& rows, const std::vector<RowKernel>& kernels) {
  Mixture mixture;
  for (std::size_t query = 0; query < rows.size(); ++query) {
    for (const SummedRow& row : rows[query]) {
      add_gaussian_row(row, kernels[query].centre, kernels[query].bandwidth, mixture);
    }
  }
  return mixture;
}

/// KL of the row's mean weights to uniform: what there is to see in it.
double flatness(const std::vector<SummedRow>& rows) {
  double divergence = 0.0, inputs = 0.0;
  for (const SummedRow& row : rows) {
    for (const double mass : row.mass) {
      const double mean = mass / row.inputs;
      if (mean > 0.0) {
        divergence += mass * std::log(mean * static_cast<double>(row.visible));
      }
    }
    inputs += row.inputs;
  }
  return inputs > 0.0 ? divergence / inputs : 0.0;
}

std::vector<double> centres(const std::vector<SummedRow>& rows) {
  const SummedRow& longest = *std::max_element(
      rows.begin(), rows.end(), [](const SummedRow& a, const SummedRow& b) { return a.inputs < b.inputs; });
  const auto peak = std::max_element(longest.mass.begin(), longest.mass.end());
  double mean = 0.0;
  for (std::size_t key = 0; key < longest.mass.size(); ++key) {
    mean += static_cast<double>(key) * longest.mass[key] / longest.inputs;
  }
  return {static_cast<double>(peak - longest.mass.begin()), mean};
}

RowKernel fit_row(const std::vector<SummedRow>& rows, double eps) {
  Mixture mixture;
  const auto loss = [&](const GaussianPoint& at) {
    mixture.clear();
    for (const SummedRow& row : rows) {
      add_gaussian_row(row, at.offset, std::exp(at.log_bandwidth), mixture);
    }
    return mixture.loss(eps) / rows.front().weight;
  };
  const double greatest = 4.0 * static_cast<double>(rows.back().stop());
  GaussianPoint best = coarse_search(loss, centres(rows), greatest);
  best = finish(loss, best, greatest);
  return {.centre = best.offset,
          .bandwidth = std::exp(best.log_bandwidth),
          .identified = flatness(rows) >= kUniformKl};
}

}  // namespace

void add_row_kernels(const LayerShape& shape, const KernelStatistics& fit, const KernelStatistics& judge,
                     NearestKernel& nearest) {
  const KernelStatistics& judged = judge.empty() ? fit : judge;
  const RowsByQuery rows = by_query(shape, fit.rows(RowWeights::kImportance));
  nearest.rows.assign(rows.size(), {});
  for (std::size_t query = 0; query < rows.size(); ++query) {
    nearest.rows[query] = {.centre = static_cast<double>(query), .identified = false};
  }
  const double uniform = judged.kl_uniform(RowWeights::kImportance);
  if (fit.empty() || uniform < kUniformKl) return;
  double eps = nearest.kernel.family == KernelFamily::kGaussian ? nearest.kernel.eps : 0.1;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t query = 0; query < rows.size(); ++query) {
      if (!rows[query].empty()) nearest.rows[query] = fit_row(rows[query], eps);
    }
    eps = mixture_of(rows, nearest.rows).best(1e-10).eps;
  }
  const double loss =
      mixture_of(by_query(shape, judged.rows(RowWeights::kImportance)), nearest.rows).loss(eps);
  nearest.eps_by_row = eps;
  nearest.explained_by_row =
      1.0 - std::max(0.0, loss - judged.mean_entropy(RowWeights::kImportance)) / uniform;
}

}  // namespace headtorch::probe
