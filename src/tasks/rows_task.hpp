#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/tasks/rows.hpp"
#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

namespace headtorch::tasks {

/// Learns in context from the rows of a file: an example is a set of rows, a token each, in no order. Token 0
/// ("row") has a known value: its features are x and y, scaled. Token 1 ("asked") is a row whose value is
/// asked: x and a 0; its label is y. Nobody attends to an asked row (TaskShape::asked_token), so that
/// the model is a kernel regression with a learned kernel: asked rows look at known ones.
///
/// Training: seq_len training rows (all, at most 256), chosen by (seed, example), a quarter of them asked.
/// Validation: as many training rows known, and validation rows asked. Test: all rows known before the test
/// (Rows::known, beyond 1,024 a choice by the seed), and the test rows asked, at most 256 an example. Each
/// validation and test row is asked once. The last example is filled up with asked rows that are not counted.
class RowsTask final : public Task {
 public:
  RowsTask(const TaskOptions& options, Rows rows, std::uint64_t seed);

  const TaskShape& shape() const override { return shape_; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  /// "line 17 (42.1)", with "?" for what is asked.
  std::string position_text(const Batch& batch, std::size_t at) const override;
  std::string overlap_note() const override;

  const Rows& rows() const { return rows_; }
  /// What the test rows are asked before, and rows of features x that the file need not hold, unscaled.
  Batch asked(std::span<const double> x) const;

 private:
  struct Example {
    std::vector<std::size_t> known, asked;  ///< row numbers
    std::int64_t length = 0;
  };
  std::int64_t at_once(Split split) const;  ///< rows asked in an example
  Example example(Split split, std::int64_t index) const;
  void add(Batch& batch, const Example& example) const;
  void add_known(Batch& batch, std::size_t row) const;
  void add_asked(Batch& batch, std::span<const double> x) const;
  std::vector<std::size_t> choose(const std::vector<std::size_t>& rows, std::int64_t most) const;

  Rows rows_;
  std::uint64_t seed_;
  TaskShape shape_;
  std::int64_t n_asked_ = 0;                           ///< of a training example
  std::vector<std::size_t> known_, known_validation_;  ///< rows whose value is known
  Vocabulary vocabulary_{0, {"row", "asked"}};
};

}  // namespace headtorch::tasks
