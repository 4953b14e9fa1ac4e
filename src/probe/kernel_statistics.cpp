#include "src/probe/kernel_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headtorch::probe {
namespace {

constexpr std::size_t kAlike = static_cast<std::size_t>(RowWeights::kAlike);

constexpr std::array<KernelFamily, 4> kTokenFamilies{KernelFamily::kSameToken, KernelFamily::kFirstSameToken,
                                                     KernelFamily::kLastSameToken, KernelFamily::kInduction};

struct Named {
  double weight = 0.0;
  std::int64_t keys = 0;

  void add(std::span<const double> row, std::int64_t key) {
    weight += row[static_cast<std::size_t>(key)];
    ++keys;
  }
};

std::array<Named, 4> named_keys(const TokenPlaces& tokens, std::int64_t query, std::span<const double> row) {
  std::array<Named, 4> named;
  const std::span<const std::int64_t> same = tokens.same(query), earlier = tokens.earlier(query);
  for (const std::int64_t key : same) {
    if (key < std::ssize(row)) named[0].add(row, key);
  }
  named[1].add(row, same.front());
  if (!earlier.empty()) named[2].add(row, earlier.back());
  for (const std::int64_t key : earlier) named[3].add(row, key + 1);
  return named;
}

}  // namespace

KernelStatistics::KernelStatistics(const LayerShape& shape, std::vector<double> row_weights)
    : shape_(shape), row_weights_(std::move(row_weights)) {}

std::span<const double> KernelStatistics::Length::row(std::size_t query) const {
  return std::span(mass).subspan(query * static_cast<std::size_t>(keys),
                                 static_cast<std::size_t>(visible[query]));
}

double KernelStatistics::row_weight(std::int64_t query, RowWeights weights) const {
  if (weights == RowWeights::kAlike) return 1.0;
  return row_weights_.empty() ? 0.0 : row_weights_[static_cast<std::size_t>(query)];
}

const KernelStatistics::Totals& KernelStatistics::totals(RowWeights weights) const {
  return totals_[weighted() ? static_cast<std::size_t>(weights) : kAlike];
}

void KernelStatistics::add(const RecordedInput& input, std::span<const float> weights,
                           std::span<const double> entropies) {
  if (input.rows == 0) return;
  Length& length = lengths_[input.sight.causal ? 0 : input.sight.length];
  if (length.mass.empty()) {
    const auto rows = static_cast<std::size_t>(input.sight.causal ? shape_.queries : input.rows);
    length.keys = input.sight.causal ? shape_.keys : input.sight.length;
    length.mass.resize(rows * static_cast<std::size_t>(length.keys));
    length.inputs.resize(rows);
    length.visible.resize(rows);
  }
  std::vector<double> row;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const std::int64_t visible = input.sight.visible(query);
    if (!read_row(weights, shape_.keys, query, visible, row)) continue;
    double* mass = length.mass.data() + query * length.keys;
    for (std::size_t key = 0; key < row.size(); ++key) mass[key] += row[key];
    ++length.inputs[at];
    length.visible[at] = visible;
    if (visible < 2) continue;
    for (const RowWeights kind : {RowWeights::kImportance, RowWeights::kAlike}) {
      Totals& totals = totals_[static_cast<std::size_t>(kind)];
      const double weight = row_weight(query, kind);
      totals.weight += weight;
      totals.entropy += weight * entropies[at];
      totals.log_visible += weight * std::log(static_cast<double>(visible));
    }
    if (input.tokens.known()) add_tokens(input.tokens, query, row);
  }
}

void KernelStatistics::add_tokens(const TokenPlaces& tokens, std::int64_t query,
                                  std::span<const double> row) {
  knows_tokens_ = true;
  const std::array<Named, 4> named = named_keys(tokens, query, row);
  for (std::size_t family = 0; family < named.size(); ++family) {
    TokenMass& mass = tokens_[family][{std::ssize(row), named[family].keys}];
    for (const RowWeights kind : {RowWeights::kImportance, RowWeights::kAlike}) {
      const double weight = row_weight(query, kind);
      mass.on[static_cast<std::size_t>(kind)] += weight * named[family].weight;
      mass.off[static_cast<std::size_t>(kind)] += weight * std::max(0.0, 1.0 - named[family].weight);
    }
  }
}

double KernelStatistics::mean_entropy(RowWeights weights) const {
  const Totals& sums = totals(weights);
  return sums.weight > 0.0 ? sums.entropy / sums.weight : 0.0;
}

double KernelStatistics::kl_uniform(RowWeights weights) const {
  const Totals& sums = totals(weights);
  return sums.weight > 0.0 ? std::max(0.0, (sums.log_visible - sums.entropy) / sums.weight) : 0.0;
}

std::vector<SummedRow> KernelStatistics::rows(RowWeights weights) const {
  const RowWeights kind = weighted() ? weights : RowWeights::kAlike;
  std::vector<SummedRow> rows;
  for (const auto& [key, length] : lengths_) {
    for (std::size_t at = 0; at < length.inputs.size(); ++at) {
      const auto query = static_cast<std::int64_t>(at);
      const double weight = row_weight(query, kind) / totals(weights).weight;
      if (length.visible[at] < 2 || weight == 0.0) continue;
      rows.push_back({.query = query,
                      .visible = length.visible[at],
                      .weight = weight,
                      .inputs = static_cast<double>(length.inputs[at]),
                      .mass = length.row(at)});
    }
  }
  return rows;
}

Mixture KernelStatistics::token_mixture(KernelFamily family, RowWeights weights) const {
  const auto index = static_cast<std::size_t>(
      std::find(kTokenFamilies.begin(), kTokenFamilies.end(), family) - kTokenFamilies.begin());
  const auto kind = weighted() ? static_cast<std::size_t>(weights) : kAlike;
  const double total = totals(weights).weight;
  Mixture mixture;
  for (const auto& [sizes, mass] : tokens_[index]) {
    const auto& [visible, named] = sizes;
    const double uniform = 1.0 / static_cast<double>(visible);
    // Where nothing is named, K = U at every eps: K0 is U itself.
    const double k0 = named > 0 ? 1.0 / static_cast<double>(named) : uniform;
    mixture.add(mass.on[kind] / total, k0, uniform);
    mixture.add(mass.off[kind] / total, named > 0 ? 0.0 : uniform, uniform);
  }
  return mixture;
}

std::vector<double> KernelStatistics::mean_weights() const {
  std::vector<double> mean(static_cast<std::size_t>(shape_.queries * shape_.keys));
  std::vector<double> inputs(mean.size());
  for (const auto& [key, length] : lengths_) {
    for (std::size_t query = 0; query < length.inputs.size(); ++query) {
      const std::span<const double> mass = length.row(query);
      for (std::size_t j = 0; j < mass.size(); ++j) {
        const std::size_t cell = query * static_cast<std::size_t>(shape_.keys) + j;
        mean[cell] += mass[j];
        inputs[cell] += static_cast<double>(length.inputs[query]);
      }
    }
  }
  for (std::size_t cell = 0; cell < mean.size(); ++cell) {
    if (inputs[cell] > 0.0) mean[cell] /= inputs[cell];
  }
  return mean;
}

}  // namespace headtorch::probe
