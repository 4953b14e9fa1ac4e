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

/// Those that the query may look at, by family; as kernel_row names them.
std::array<Named, 4> named_keys(const RecordedInput& input, std::int64_t query, std::span<const double> row) {
  std::array<Named, 4> named;
  const Sight& sight = input.sight;
  for (const std::int64_t key : input.tokens.same(query)) {
    if (!sight.sees(query, key)) continue;
    named[0].add(row, key);
    if (named[1].keys == 0) named[1].add(row, key);
  }
  for (const std::int64_t key : input.tokens.earlier(query)) {
    if (sight.sees(query, key)) {
      named[2] = {};
      named[2].add(row, key);
    }
    if (sight.sees(query, key + 1)) named[3].add(row, key + 1);
  }
  return named;
}

}  // namespace

KernelStatistics::KernelStatistics(const LayerShape& shape, std::vector<double> row_weights)
    : shape_(shape), row_weights_(std::move(row_weights)) {}

std::span<const double> KernelStatistics::Group::row(std::int64_t query) const {
  const bool any = inputs[static_cast<std::size_t>(query)] > 0;
  return std::span(mass).subspan(static_cast<std::size_t>(query * keys),
                                 static_cast<std::size_t>(any ? sight.stop(query) : 0));
}

double KernelStatistics::row_weight(std::int64_t query, RowWeights weights) const {
  if (weights == RowWeights::kAlike) return 1.0;
  return row_weights_.empty() ? 0.0 : row_weights_[static_cast<std::size_t>(query)];
}

const KernelStatistics::Totals& KernelStatistics::totals(RowWeights weights) const {
  return totals_[weighted() ? static_cast<std::size_t>(weights) : kAlike];
}

KernelStatistics::Group& KernelStatistics::group_of(const Sight& sight) {
  Group& group = groups_[{sight.causal ? 0 : sight.length, sight.open}];
  if (!group.inputs.empty()) return group;
  group.sight = sight;
  if (sight.causal) group.sight.length = shape_.keys;
  group.keys = group.sight.length;
  const std::int64_t rows = shape_.is_self() ? group.keys : shape_.queries;
  group.mass.resize(static_cast<std::size_t>(rows * group.keys));
  group.inputs.resize(static_cast<std::size_t>(rows));
  return group;
}

void KernelStatistics::add(const RecordedInput& input, std::span<const float> weights,
                           std::span<const double> entropies) {
  if (input.rows == 0 || input.sight.length == 0) return;
  Group& group = group_of(input.sight);
  std::vector<double> row;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const std::int64_t visible = read_row(weights, shape_.keys, query, input.sight, row);
    if (visible == 0) continue;
    double* mass = group.mass.data() + query * group.keys;
    for (auto key = static_cast<std::size_t>(input.sight.first(query)); key < row.size(); ++key) {
      mass[key] += row[key];
    }
    ++group.inputs[at];
    if (visible < 2) continue;
    for (const RowWeights kind : {RowWeights::kImportance, RowWeights::kAlike}) {
      Totals& totals = totals_[static_cast<std::size_t>(kind)];
      const double weight = row_weight(query, kind);
      totals.weight += weight;
      totals.entropy += weight * entropies[at];
      totals.log_visible += weight * std::log(static_cast<double>(visible));
    }
    if (input.tokens.known()) add_tokens(input, {query, visible, row});
  }
}

void KernelStatistics::add_tokens(const RecordedInput& input, const SeenRow& row) {
  knows_tokens_ = true;
  const std::array<Named, 4> named = named_keys(input, row.query, row.weights);
  for (std::size_t family = 0; family < named.size(); ++family) {
    TokenMass& mass = tokens_[family][{row.visible, named[family].keys}];
    for (const RowWeights kind : {RowWeights::kImportance, RowWeights::kAlike}) {
      const double weight = row_weight(row.query, kind);
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
  for (const auto& [key, group] : groups_) {
    for (std::int64_t query = 0; query < std::ssize(group.inputs); ++query) {
      const double weight = row_weight(query, kind) / totals(weights).weight;
      const std::int64_t visible = group.sight.visible(query);
      const auto inputs = static_cast<double>(group.inputs[static_cast<std::size_t>(query)]);
      if (inputs == 0.0 || visible < 2 || weight == 0.0) continue;
      rows.push_back({.query = query,
                      .first = group.sight.first(query),
                      .visible = visible,
                      .weight = weight,
                      .inputs = inputs,
                      .mass = group.row(query),
                      .open = group.sight.open});
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
  for (const auto& [key, group] : groups_) {
    for (std::int64_t query = 0; query < std::ssize(group.inputs); ++query) {
      const std::span<const double> mass = group.row(query);
      for (std::int64_t j = 0; j < std::ssize(mass); ++j) {
        if (!group.sight.sees(query, j)) continue;
        const auto cell = static_cast<std::size_t>(query * shape_.keys + j);
        mean[cell] += mass[static_cast<std::size_t>(j)];
        inputs[cell] += static_cast<double>(group.inputs[static_cast<std::size_t>(query)]);
      }
    }
  }
  for (std::size_t cell = 0; cell < mean.size(); ++cell) {
    if (inputs[cell] > 0.0) mean[cell] /= inputs[cell];
  }
  return mean;
}

}  // namespace headtorch::probe
