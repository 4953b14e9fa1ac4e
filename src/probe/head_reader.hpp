#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/probe/head_report.hpp"

namespace headtorch::probe {

struct HeadReaderOptions {
  /// Importance of each row, [AttentionMaps::layers][heads * queries], >= 0. Empty, or all zero for a head:
  /// every row alike, and the reports say so.
  std::vector<std::vector<double>> row_importance;
  bool kernel_by_row = false;  ///< also a centre and bandwidth for each row (A12)
};

/// Reads weights a few inputs at a time, so that they need never be in memory at once, and says what each
/// head does. Scores are over the inputs of both halves; kernels are fitted on the first and judged on the
/// second. Memory does not grow with the inputs, but for one summed map a head for each length of padded ones
/// and each place of hidden tokens. Each row is divided by its sum, which must be within 1 % of one; a row of
/// zeros sees nothing and counts nowhere. Results do not depend on the number of threads.
class HeadReader {
 public:
  explicit HeadReader(HeadReaderOptions options);
  ~HeadReader();
  HeadReader(const HeadReader&) = delete;
  HeadReader& operator=(const HeadReader&) = delete;

  /// All inputs to fit come before those to judge. Layers, heads and sizes must be the same in all calls.
  /// @throws ShapeError when they are not, ConfigError for weights that are not finite, not within 0..1, on
  /// keys that the row may not see, or do not sum to one; nothing is added then.
  void fit(const AttentionMaps& maps);
  void judge(const AttentionMaps& maps);
  /// Random tokens repeated: the induction score is measured on these alone when they are given. They may
  /// have another length.
  void repeated(const AttentionMaps& maps);

  /// One report a head, by AttentionMaps::layers and head. Heads are compared within their layer. With
  /// nothing to judge on, the fitted half is used and said to be.
  std::vector<HeadReport> reports() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headtorch::probe
