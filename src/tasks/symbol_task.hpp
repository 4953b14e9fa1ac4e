#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/core/philox.hpp"
#include "src/tasks/sizes.hpp"
#include "src/tasks/split.hpp"
#include "src/tasks/task.hpp"
#include "src/tasks/vocabulary.hpp"

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
  double n_possible = 0.0;  ///< number of different inputs
  /// Visits all of them; called for small spaces only. Without it a small space is refused.
  std::function<void(const Visit& visit)> for_each_input = {};
  std::vector<std::string> words = {};  ///< what the last symbols are called; the others are numbers
  SplitTenths tenths = {};
  std::function<std::vector<double>(const Batch& batch)> best_losses = {};  ///< Task::best_losses
};

/// A task made from a rule: draws inputs until one belongs to the split asked for (split_of).
class SymbolTask final : public Task {
 public:
  /// @throws ConfigError when so few inputs are possible that a split would be empty.
  SymbolTask(SymbolRule rule, std::uint64_t seed);

  const TaskShape& shape() const override { return rule_.shape; }
  Batch batch(Split split, std::int64_t first, std::int64_t count) const override;
  std::int64_t size(Split split) const override;
  std::string token_text(std::int64_t token) const override { return vocabulary_.text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override;
  std::vector<double> best_losses(const Batch& batch) const override;
  std::string overlap_note() const override { return overlap_note_; }
  std::int64_t n_free_running() const override { return rule_.n_free_running; }

 private:
  void draw_example(Split split, std::int64_t index, std::span<std::int64_t> tokens) const;

  SymbolRule rule_;
  std::uint64_t seed_;
  Vocabulary vocabulary_;
  std::string overlap_note_;
};

/// The rules; sizes of 0 are replaced by the task's own.  @throws ConfigError naming a size that cannot work.
SymbolRule reverse_rule(const TaskOptions& options);
SymbolRule copy_rule(const TaskOptions& options);
SymbolRule sort_rule(const TaskOptions& options);
SymbolRule histogram_rule(const TaskOptions& options);
SymbolRule induction_rule(const TaskOptions& options);
SymbolRule add_rule(const TaskOptions& options);
SymbolRule recall_rule(const TaskOptions& options);
SymbolRule mqar_rule(const TaskOptions& options);
SymbolRule select_rule(const TaskOptions& options);
SymbolRule dyck_rule(const TaskOptions& options);
SymbolRule modular_rule(const TaskOptions& options);
SymbolRule markov_rule(const TaskOptions& options);

}  // namespace headtorch::tasks
