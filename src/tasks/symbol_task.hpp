#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/core/philox.hpp"
#include "src/tasks/task.hpp"

namespace headtorch::tasks {

/// What makes one task over symbols 0 .. n_symbols-1.
struct SymbolRule {
  using Visit = std::function<void(std::span<const std::int64_t> tokens)>;

  TaskShape shape;
  std::int64_t n_test = 10000;
  std::int64_t n_free_running = 0;
  /// Fills one input; every possible input must have a chance.
  std::function<void(Random& random, std::span<std::int64_t> tokens)> draw;
  /// The labels, a function of the input alone.
  std::function<void(std::span<const std::int64_t> tokens, std::span<std::int64_t> labels)> label;
  double n_possible = 0.0;                                 ///< number of different inputs
  std::function<void(const Visit& visit)> for_each_input;  ///< all of them; called for small spaces only
};

/// A task made from a rule: draws inputs until one belongs to the split asked for (split_of).
class SymbolTask final : public Task {
 public:
  /// @throws ConfigError when so few inputs are possible that a split would be empty.
  SymbolTask(SymbolRule rule, std::uint64_t seed);

  const TaskShape& shape() const override { return rule_.shape; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override;
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  std::string overlap_note() const override { return overlap_note_; }
  std::int64_t n_free_running() const override { return rule_.n_free_running; }

 private:
  void draw_example(Split split, std::int64_t index, std::span<std::int64_t> tokens) const;

  SymbolRule rule_;
  std::uint64_t seed_;
  std::string overlap_note_;
};

/// The rules; sizes of 0 are replaced by the task's own.  @throws ConfigError naming a size that cannot work.
SymbolRule reverse_rule(const TaskOptions& options);
SymbolRule copy_rule(const TaskOptions& options);
SymbolRule sort_rule(const TaskOptions& options);
SymbolRule histogram_rule(const TaskOptions& options);
SymbolRule induction_rule(const TaskOptions& options);

/// `value`, or `fallback` for 0.  @throws ConfigError unless low <= value <= high.
std::int64_t size_in_range(std::string_view name, std::int64_t value, std::int64_t fallback, std::int64_t low,
                           std::int64_t high);

/// @throws Error (internal) unless first .. first+count-1 are examples of the split.
void check_examples(const Task& task, Split split, std::int64_t first, std::int64_t count);

inline constexpr std::int64_t kMaxSymbols = 100000, kMaxSeqLen = 4096;

}  // namespace headtorch::tasks
