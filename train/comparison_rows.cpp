#include "train/comparison_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "train/settings/field.hpp"

namespace headtorch::train {
namespace {

using probe::RowKind;

constexpr double kPointBandwidth = 0.35;  // one position gets all but 3 % of the weight

/// Everything in which a fixed kernel differs from another.
struct Kernel {
  nn::Score score = nn::Score::kUniform;
  RowKind kind = RowKind::kGeneric;
  std::vector<double> bandwidth = {}, slope = {}, offset = {};  // empty: not of this kernel
};

/// As --score names it.
std::string score_name(const RunConfig& config) {
  const auto all = fields();
  const auto score =
      std::find_if(all.begin(), all.end(), [](const Field& field) { return field.name == "score"; });
  return std::get<std::string>(value_of(*score, config));
}

std::string place(const Kernel& kernel) {
  if (kernel.offset.size() > 1)
    return fmt::format("s, one a head, at offsets {}", fmt::join(kernel.offset, ", "));
  if (kernel.slope.front() < 0.0) return " at the mirrored position";
  if (kernel.slope.front() == 0.0) return fmt::format(" at position {}", kernel.offset.front());
  if (kernel.offset.front() == 0.0) return " around the own position";
  return fmt::format(" at offset {:+}", kernel.offset.front());
}

std::string name_of(const Kernel& kernel) {
  if (kernel.score == nn::Score::kUniform) return "uniform";
  if (kernel.score == nn::Score::kSameToken) return "same token";
  const double h = kernel.bandwidth.front();
  if (kernel.score == nn::Score::kUntrainedGaussian) return fmt::format("untrained distance, h {:g}", h);
  if (kernel.score == nn::Score::kFeatureGaussian) return fmt::format("Gaussian on the features, h {:g}", h);
  return fmt::format("{}{}, h {:g}", kernel.score == nn::Score::kFixedGaussian ? "Gaussian" : "exponential",
                     place(kernel), h);
}

std::optional<double> only_value(const std::vector<double>& values) {
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

Candidate candidate(const RunConfig& config, const Kernel& kernel, std::string name) {
  Candidate made{.row = {}, .model = config.model};
  made.row.name = std::move(name);
  made.row.kind = kernel.kind;
  made.row.n_heads = kernel.offset.size() > 1 ? config.model.n_heads : 1;
  made.row.n_layers = config.model.n_layers;
  made.row.steps = config.train.steps;
  made.row.bandwidth = only_value(kernel.bandwidth);
  made.row.kernel_slope = only_value(kernel.slope);
  made.row.kernel_offset = only_value(kernel.offset);
  made.model.head_kernels.clear();
  nn::ScoreOptions& attention = made.model.attention;
  attention.score = kernel.score;
  if (!nn::is_learned(kernel.score)) {
    // What acts on learned queries and keys has nothing to act on.
    attention.scale = {};
    attention.qk_norm = false;
    if (nn::acts(config.model.position) != nn::Acts::kOutside) made.model.position = nn::Position::kNone;
  }
  attention.bandwidth = kernel.bandwidth.empty() ? nn::ScoreOptions{}.bandwidth : kernel.bandwidth;
  attention.kernel_slope = kernel.slope.empty() ? nn::ScoreOptions{}.kernel_slope : kernel.slope;
  attention.kernel_offset = kernel.offset.empty() ? nn::ScoreOptions{}.kernel_offset : kernel.offset;
  RunConfig changed = config;
  changed.model = made.model;
  made.row.score = score_name(changed);
  return made;
}

struct Bandwidths {
  std::vector<double> gaussian, exponential, untrained;
};

Bandwidths generic_bandwidths(const RunConfig& config, bool is_text, const std::vector<double>& by_hand) {
  if (!by_hand.empty()) return {by_hand, by_hand, by_hand};
  // Layer inputs have about unit variance a feature, so distances grow with the root of the width.
  const double width = std::sqrt(static_cast<double>(config.model.d_model));
  if (is_text) return {{1.0, 4.0}, {3.0}, {0.5 * width}};
  return {{0.5, 1.0, 2.0, 4.0}, {1.0, 3.0}, {0.25 * width, 0.5 * width, width}};
}

std::vector<Kernel> shaped_kernels(const RunConfig& config, const tasks::TaskShape& shape, bool is_text) {
  const bool causal = config.model.family == models::Family::kCausal;
  const double last = static_cast<double>(shape.seq_len - 1);
  const double middle = static_cast<double>(shape.seq_len / 2);
  std::vector<Kernel> kernels;
  const auto add = [&](double slope, std::vector<double> offset, double bandwidth) {
    kernels.push_back({nn::Score::kFixedGaussian, RowKind::kShaped, {bandwidth}, {slope}, std::move(offset)});
  };
  for (const double back : is_text ? std::vector{-1.0, -2.0} : std::vector{-1.0, -2.0, -3.0, -4.0}) {
    add(1.0, {back}, kPointBandwidth);
  }
  if (config.model.n_heads >= 2) {
    std::vector<double> one_a_head;
    for (std::int64_t head = 0; head < config.model.n_heads; ++head) {
      one_a_head.push_back(-static_cast<double>(head % 4 + 1));
    }
    add(1.0, one_a_head, kPointBandwidth);
  }
  add(0.0, {0.0}, 1.0);
  if (!is_text && middle > 0.0) add(0.0, {middle}, 1.0);
  if (!causal) {
    for (const double ahead : {1.0, 2.0}) add(1.0, {ahead}, kPointBandwidth);
    for (const double bandwidth : {kPointBandwidth, 1.0}) add(-1.0, {last}, bandwidth);
    if (last > middle) add(0.0, {last}, 1.0);
  }
  return kernels;
}

std::string learned_name(std::int64_t n_heads, std::int64_t n_layers) {
  return fmt::format("{} in {}", n_heads == 1 ? "one learned head" : fmt::format("{} learned heads", n_heads),
                     n_layers == 1 ? "one layer" : fmt::format("each of {} layers", n_layers));
}

}  // namespace

Candidate no_mixing_candidate(const RunConfig& config) {
  return candidate(config, {.score = nn::Score::kSelf, .kind = RowKind::kNoMixing}, "no mixing");
}

std::vector<Candidate> kernel_grid(const RunConfig& config, const tasks::TaskShape& shape,
                                   const std::vector<double>& bandwidths) {
  const bool is_text = shape.name == "text";
  const Bandwidths generic = generic_bandwidths(config, is_text, bandwidths);
  std::vector<Kernel> kernels = {{.score = nn::Score::kUniform}};
  if (shape.n_symbols > 1) kernels.push_back({.score = nn::Score::kSameToken});
  for (const double h : generic.gaussian) {
    kernels.push_back({nn::Score::kFixedGaussian, RowKind::kGeneric, {h}, {1.0}, {0.0}});
  }
  for (const double h : generic.exponential) {
    kernels.push_back({nn::Score::kFixedExponential, RowKind::kGeneric, {h}, {1.0}, {0.0}});
  }
  for (const double h : generic.untrained) {
    kernels.push_back({.score = nn::Score::kUntrainedGaussian, .bandwidth = {h}});
  }
  for (Kernel& kernel : shaped_kernels(config, shape, is_text)) kernels.push_back(std::move(kernel));
  std::vector<Candidate> grid;
  for (const Kernel& kernel : kernels) grid.push_back(candidate(config, kernel, name_of(kernel)));
  return grid;
}

std::vector<Candidate> row_kernels(const RunConfig& config, const std::vector<double>& bandwidths) {
  const auto gaussian = [](double h) {
    return Kernel{.score = nn::Score::kFeatureGaussian, .bandwidth = {h}, .slope = {}, .offset = {}};
  };
  std::vector<Candidate> kernels = {candidate(config, {.score = nn::Score::kUniform}, "uniform")};
  for (const double h : bandwidths) kernels.push_back(candidate(config, gaussian(h), name_of(gaussian(h))));
  if (bandwidths.empty()) {
    kernels.push_back(candidate(config, gaussian(1.0), "Gaussian on the features"));
    kernels.back().row.bandwidth.reset();
    kernels.back().bandwidth_by = BandwidthBy::kSplit;
  }
  return kernels;
}

std::vector<Candidate> learned_candidates(const RunConfig& config) {
  const auto from_one = [](std::int64_t n) {
    return n == 1 ? std::vector{n} : std::vector{std::int64_t{1}, n};
  };
  std::vector<Candidate> learned;
  for (const std::int64_t n_heads : from_one(config.model.n_heads)) {
    for (const std::int64_t n_layers : from_one(config.model.n_layers)) {
      const nn::Score asked = config.model.attention.score;
      const nn::Score score = nn::is_learned(asked) ? asked : nn::Score::kDot;
      Candidate made =
          candidate(config, {.score = score, .kind = RowKind::kLearned}, learned_name(n_heads, n_layers));
      made.row.n_heads = made.model.n_heads = n_heads;
      made.row.n_layers = made.model.n_layers = n_layers;
      learned.push_back(std::move(made));
    }
  }
  return learned;
}

Candidate raw_dot_candidate(const RunConfig& config) {
  return candidate(config, {.score = nn::Score::kRawDot, .kind = RowKind::kLearned},
                   "attention without query and key projections");
}

probe::ComparisonRow replaced_row(const Candidate& full) {
  probe::ComparisonRow row = full.row;
  row.name = "every head replaced by its nearest kernel";
  row.kind = RowKind::kReplaced;
  return row;
}

}  // namespace headtorch::train
