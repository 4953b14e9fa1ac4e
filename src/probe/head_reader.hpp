#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/attention_maps.hpp"
#include "src/probe/head_report.hpp"

namespace headtorch::probe {

struct HeadReaderOptions {
  /// Importance of each row, [layers][heads * queries]; empty: every row alike, and the reports say so.
  std::vector<std::vector<double>> row_importance;
  bool kernel_by_row = false;  ///< also a centre and bandwidth for each row (A12)
};

/// Reads weights a few inputs at a time, so that they need never be in memory at once, and says what each
/// head does. Scores are over the inputs of both halves; kernels are fitted on the first and judged on the
/// second.
class HeadReader {
 public:
  explicit HeadReader(HeadReaderOptions options);
  ~HeadReader();
  HeadReader(const HeadReader&) = delete;
  HeadReader& operator=(const HeadReader&) = delete;

  /// Layers, heads and sizes must be the same in all calls.  @throws ShapeError when they are not,
  /// ConfigError for weights that are not finite or not within 0..1.
  void fit(const AttentionMaps& maps);
  void judge(const AttentionMaps& maps);
  /// Random tokens repeated: the induction score is measured on these alone when they are given.
  void repeated(const AttentionMaps& maps);

  /// One report a head, by layer and head. With nothing to judge on, the fitted half is used and said to be.
  std::vector<HeadReport> reports() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headtorch::probe
