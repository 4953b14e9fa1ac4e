#include "src/probe/head_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/probe/sums.hpp"

namespace headtorch::probe {
namespace {

constexpr std::array<std::string_view, kHeadScores> kNames{"entropy",
                                                           "entropy_normalised",
                                                           "max_weight",
                                                           "previous_token",
                                                           "duplicate_token",
                                                           "induction",
                                                           "mean_distance",
                                                           "sink",
                                                           "confidence",
                                                           "effective_df",
                                                           "effective_sample",
                                                           "variability",
                                                           "identity",
                                                           "local",
                                                           "similarity",
                                                           "previous_token_tl",
                                                           "duplicate_token_tl",
                                                           "induction_tl",
                                                           "previous_token_tl_abs",
                                                           "duplicate_token_tl_abs",
                                                           "induction_tl_abs",
                                                           "previous_token_weighted",
                                                           "duplicate_token_weighted",
                                                           "induction_weighted",
                                                           "identity_weighted"};

constexpr std::size_t at(HeadScore score) { return static_cast<std::size_t>(score); }

/// A score that asks how much weight lies on named keys, in all its forms.
struct Pattern {
  HeadScore score, tl, tl_abs, weighted;
};
constexpr Pattern kPrevious{HeadScore::kPreviousToken, HeadScore::kPreviousTokenTl,
                            HeadScore::kPreviousTokenTlAbs, HeadScore::kPreviousTokenWeighted};
constexpr Pattern kDuplicate{HeadScore::kDuplicateToken, HeadScore::kDuplicateTokenTl,
                             HeadScore::kDuplicateTokenTlAbs, HeadScore::kDuplicateTokenWeighted};
constexpr Pattern kInduction{HeadScore::kInduction, HeadScore::kInductionTl, HeadScore::kInductionTlAbs,
                             HeadScore::kInductionWeighted};

/// Weight of a row on `keys` named keys.
struct OnKeys {
  double weight = 0.0, keys = 0.0;
};

OnKeys previous(const Sight& sight, std::int64_t query, std::span<const double> row) {
  if (query == 0 || !sight.sees(query, query - 1)) return {};
  return {.weight = row[static_cast<std::size_t>(query - 1)], .keys = 1.0};
}

/// @param shift 0: the earlier equal tokens, 1: the tokens after them.
OnKeys earlier(const RecordedInput& input, std::int64_t query, std::span<const double> row,
               std::int64_t shift) {
  OnKeys on;
  for (const std::int64_t position : input.tokens.earlier(query)) {
    if (!input.sight.sees(query, position + shift)) continue;
    on.weight += row[static_cast<std::size_t>(position + shift)];
    on.keys += 1.0;
  }
  return on;
}

template <typename Tallies>
void add_pattern(const Pattern& pattern, const OnKeys& on, double visible, double row_weight,
                 Tallies& tallies) {
  const double chance = on.keys / visible;
  if (on.keys > 0.0) {
    tallies[at(pattern.score)].add(on.weight, chance);
    if (row_weight > 0.0) tallies[at(pattern.weighted)].add(on.weight, chance, row_weight);
  }
  tallies[at(pattern.tl)].add(on.weight, chance);
  // sum_j |A_ij - P_ij| = keys named + 1 - 2 * weight on them, for rows that sum to one.
  tallies[at(pattern.tl_abs)].add(2.0 * on.weight - on.keys, 2.0 * chance - on.keys);
}

/// Means over inputs, as TransformerLens takes them, in place of means over rows.
Tally per_input(const Tally& rows) {
  if (rows.rows == 0) return rows;
  return {
      .sum = rows.sum / rows.weight, .weight = 1.0, .chance = rows.chance / rows.weight, .rows = rows.rows};
}

double largest_but(std::span<const double> row, std::optional<std::int64_t> left_out) {
  double largest = 0.0;
  for (std::size_t key = 0; key < row.size(); ++key) {
    if (!left_out || std::cmp_not_equal(key, *left_out)) largest = std::max(largest, row[key]);
  }
  return largest;
}

bool is_per_input(std::size_t score) {
  return score >= at(HeadScore::kPreviousTokenTl) && score <= at(HeadScore::kInductionTlAbs);
}

}  // namespace

std::string_view score_name(HeadScore score) { return kNames[at(score)]; }

HeadScores::HeadScores(const LayerShape& shape, std::vector<double> row_weights)
    : shape_(shape), row_weights_(std::move(row_weights)), columns_(static_cast<std::size_t>(shape.keys)) {}

void HeadScores::add(const RecordedInput& input, std::span<const float> weights,
                     std::vector<double>& entropies) {
  Tallies tallies;
  std::vector<Tally> columns(columns_.size());
  entropies.assign(static_cast<std::size_t>(shape_.queries), -1.0);
  std::vector<double> row;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    const std::int64_t visible = read_row(weights, shape_.keys, query, input.sight, row);
    if (visible == 0) continue;
    const double entropy = entropy_of(row);
    entropies[static_cast<std::size_t>(query)] = entropy;
    add_row(input, {query, visible, row}, entropy, tallies);
    const std::int64_t last = shape_.is_self() ? std::min(query + 1, std::ssize(row)) : std::ssize(row);
    for (std::int64_t key = input.sight.first(query); key < last; ++key) {
      if (!input.sight.is_open(key)) continue;
      const auto at_key = static_cast<std::size_t>(key);
      columns[at_key].add(row[at_key], 1.0 / static_cast<double>(visible));
    }
  }

  Tally& df = tallies[at(HeadScore::kEffectiveDf)];
  if (df.rows > 0) df.weight = 1.0;
  for (std::size_t score = 0; score < kHeadScores; ++score) {
    ratios_[score].add(is_per_input(score) ? per_input(tallies[score]) : tallies[score]);
  }
  for (std::size_t key = 0; key < columns.size(); ++key) {
    if (columns[key].rows > 0 && 2 * columns[key].rows >= input.rows) columns_[key].add(columns[key]);
  }
}

void HeadScores::add_row(const RecordedInput& input, const SeenRow& row, double entropy,
                         Tallies& tallies) const {
  const auto visible = static_cast<double>(row.visible);
  const double largest = largest_but(row.weights, {});
  tallies[at(HeadScore::kEntropy)].add(entropy, std::log(visible));
  if (row.visible > 1) tallies[at(HeadScore::kEntropyNormalised)].add(entropy / std::log(visible), 1.0);
  tallies[at(HeadScore::kMaxWeight)].add(largest, 1.0 / visible);
  const double squares = std::inner_product(row.weights.begin(), row.weights.end(), row.weights.begin(), 0.0);
  tallies[at(HeadScore::kEffectiveSample)].add(1.0 / squares, visible);
  if (input.end_token != row.query) {
    tallies[at(HeadScore::kConfidence)].add(
        input.end_token ? largest_but(row.weights, input.end_token) : largest, 1.0 / visible);
  }
  if (shape_.is_self()) add_positions(input, row, tallies);
}

void HeadScores::add_positions(const RecordedInput& input, const SeenRow& row, Tallies& tallies) const {
  const auto visible = static_cast<double>(row.visible);
  const std::int64_t query = row.query;
  const double row_weight = row_weights_.empty() ? 0.0 : row_weights_[static_cast<std::size_t>(query)];
  double distance = 0.0, uniform_distance = 0.0, local = 0.0, local_keys = 0.0;
  for (std::int64_t key = input.sight.first(query); key < std::ssize(row.weights); ++key) {
    if (!input.sight.is_open(key)) continue;
    const double weight = row.weights[static_cast<std::size_t>(key)];
    const std::int64_t away = std::abs(key - query);
    distance += weight * static_cast<double>(away);
    uniform_distance += static_cast<double>(away);
    if (away <= kLocalReach) {
      local += weight;
      local_keys += 1.0;
    }
  }
  tallies[at(HeadScore::kMeanDistance)].add(distance, uniform_distance / visible);
  tallies[at(HeadScore::kLocal)].add(local, local_keys / visible);
  if (input.sight.sees(query, query)) {
    const double own = row.weights[static_cast<std::size_t>(query)];
    tallies[at(HeadScore::kIdentity)].add(own, 1.0 / visible);
    tallies[at(HeadScore::kEffectiveDf)].add(own, 1.0 / visible);
    if (row_weight > 0.0) tallies[at(HeadScore::kIdentityWeighted)].add(own, 1.0 / visible, row_weight);
  }
  add_pattern(kPrevious, previous(input.sight, query, row.weights), visible, row_weight, tallies);
  if (!input.tokens.known()) return;
  add_pattern(kDuplicate, earlier(input, query, row.weights, 0), visible, row_weight, tallies);
  add_pattern(kInduction, earlier(input, query, row.weights, 1), visible, row_weight, tallies);
}

void HeadScores::add_repeated(const RecordedInput& input, std::span<const float> weights, std::int64_t keys) {
  if (!input.tokens.known()) return;
  Tallies tallies;
  std::vector<double> row;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    const std::int64_t visible = read_row(weights, keys, query, input.sight, row);
    if (visible == 0) continue;
    add_pattern(kInduction, earlier(input, query, row, 1), static_cast<double>(visible), 0.0, tallies);
  }
  repeated_[at(HeadScore::kInduction)].add(tallies[at(HeadScore::kInduction)]);
  for (const HeadScore score : {HeadScore::kInductionTl, HeadScore::kInductionTlAbs}) {
    repeated_[at(score)].add(per_input(tallies[at(score)]));
  }
}

void HeadScores::add_variability(const RecordedInput& input, std::span<const float> weights,
                                 std::span<const double> mean) {
  Tally tally;
  std::vector<double> row;
  for (std::int64_t query = 0; query < input.rows; ++query) {
    if (read_row(weights, shape_.keys, query, input.sight, row) == 0) continue;
    const std::span<const double> usual =
        mean.subspan(static_cast<std::size_t>(query * shape_.keys), row.size());
    double apart = 0.0, known = 0.0;
    for (std::size_t key = 0; key < row.size(); ++key) {
      apart += std::abs(row[key] - usual[key]);
      known += usual[key];
    }
    if (known > 0.0) tally.add(apart / 2.0, 0.0);
  }
  ratios_[at(HeadScore::kVariability)].add(tally);
}

std::vector<NamedScore> HeadScores::scores(const Score& similarity) const {
  std::vector<NamedScore> named;
  for (std::size_t score = 0; score < kHeadScores; ++score) {
    if (row_weights_.empty() && score >= at(HeadScore::kPreviousTokenWeighted)) break;
    const Score repeated = repeated_[score].score();
    named.push_back({std::string(kNames[score]), repeated.rows > 0 ? repeated : ratios_[score].score()});
  }
  named[at(HeadScore::kSimilarity)].score = similarity;
  if (const auto key = sink_key()) {
    named[at(HeadScore::kSink)].score = columns_[static_cast<std::size_t>(*key)].score();
  }
  return named;
}

std::optional<std::int64_t> HeadScores::sink_key() const {
  std::optional<std::int64_t> largest;
  double value = 0.0;
  for (std::size_t key = 0; key < columns_.size(); ++key) {
    // Few inputs, the longest, have a key so late: chance would pick it.
    const bool usual = 2 * columns_[key].inputs() >= ratios_[at(HeadScore::kMaxWeight)].inputs();
    if (usual && columns_[key].value() > value) {
      value = columns_[key].value();
      largest = static_cast<std::int64_t>(key);
    }
  }
  return largest;
}

}  // namespace headtorch::probe
