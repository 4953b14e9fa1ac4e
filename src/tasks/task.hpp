#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/table/table.hpp"

namespace headtorch::tasks {

/// Label of a position that no loss and no accuracy counts.
inline constexpr std::int64_t kNotCounted = -1;

/// How a model must look at a task's tokens: a label for each position from the whole sequence; the next
/// token from those before it; or a target written left to right beside a source that is seen whole.
enum class Reading { kWholeSequence, kLeftToRight, kSourceToTarget };

/// What is predicted at a counted position: one of n_classes labels, or a number.
enum class Measure { kClasses, kReal };

/// How tokens stand beside each other when a person types them: with spaces between them, or without.
enum class Spelling { kWords, kCharacters };

enum class Split { kTrain, kValidation, kTest };

/// What a target may look at: batch first, row-major. Positions from an example's length on are padding and
/// hold token 0.
struct Source {
  std::int64_t length = 0;            ///< positions; 0: the task has no source
  std::vector<std::int64_t> tokens;   ///< [examples, length]
  std::vector<std::int64_t> lengths;  ///< [examples], each 1 .. length
  std::vector<float> features;        ///< [examples, length, n_features]
};

/// Tokens and labels of some examples, batch first, row-major [examples, length]. Tokens are in 0 ..
/// n_symbols-1, labels in 0 .. n_classes-1 or kNotCounted.
struct Batch {
  std::int64_t examples = 0, length = 0;
  std::vector<std::int64_t> tokens, labels;
  std::vector<float> features;  ///< [examples, length, n_features], beside the tokens; empty without features
  std::vector<float> values;    ///< Measure::kReal: [examples, length]; labels are then 0 or kNotCounted
  Source source = {};
  std::vector<std::int64_t> lines =
      {};  ///< [examples, length], of the file that positions stand for; or empty
  /// What was drawn for each example and no model sees, for best_losses: [examples, as many as the task
  /// says].
  std::vector<double> drawn = {};
};

/// Positions that are the square patches of an image, row by row, behind `first` positions that are not.
/// Their features are pixels in 0..1, row by row.
struct ImageShape {
  std::int64_t rows = 0, columns = 0;  ///< patches; 0: no image
  std::int64_t patch = 0;              ///< side of a patch, pixels
  std::int64_t first = 0;
};

/// Examples that are points in context: at each counted position y is the value and x the first features, and
/// the points at counted positions before it have been seen.
struct PointsShape {
  std::int64_t n_predictors = 0;  ///< numbers of x; 0: no points
  bool has_intercept = false;     ///< of the linear function that stands beside a model
};

struct SourceShape {
  std::int64_t n_symbols = 0;
  std::int64_t seq_len = 0;  ///< longest source; 0: none
  std::int64_t n_features = 0;
  ImageShape image;
};

/// What one task is, in numbers a model can be sized by.
struct TaskShape {
  std::string name;
  Reading reading = Reading::kWholeSequence;
  std::int64_t n_symbols = 0;   ///< size of the input vocabulary
  std::int64_t n_classes = 0;   ///< size of the label vocabulary; 1 under Measure::kReal
  std::int64_t seq_len = 0;     ///< tokens of an example (of its target)
  std::int64_t n_features = 0;  ///< numbers beside each token
  Measure measure = Measure::kClasses;
  std::int64_t start = -1;  ///< token that every target begins with, before the first answer; -1: none
  ImageShape image = {};
  SourceShape source = {};
  std::int64_t n_compared = 0;    ///< the first of n_features, by which positions are alike; 0: none
  std::int64_t asked_token = -1;  ///< a row whose value is asked: never seen as a key; -1: none
  /// Measure::kReal: values are (original - mean) / value_unit; errors are reported times value_unit.
  double value_unit = 1.0;
  /// Neighbouring errors that a bootstrap draws together: 1 for rows in no order, more for a series; 0: no
  /// interval.
  std::int64_t error_block = 0;
  PointsShape points = {};

  /// Positions of the longer of its sequences.
  std::int64_t longest() const { return std::max(seq_len, source.seq_len); }
};

enum class DigitOrder { kReversed, kPlain };
enum class Operation { kAdd, kSubtract, kMultiply, kDivide };
/// What a series' model looks at: the lags of one row, or other rows whose value is known.
enum class Attend { kLags, kRows };

/// Values of the `[task]` section.
struct TaskOptions {
  std::string name = {};
  std::int64_t seq_len = 0;    ///< 0: the task's own default
  std::int64_t n_symbols = 0;  ///< 0: the task's own default; not for text
  std::string file = {};       ///< text, series, table
  std::int64_t n_pairs = 0;    ///< recall, mqar: key-value pairs; select: symbols to copy. 0: the task's own
  DigitOrder digit_order = DigitOrder::kReversed;    ///< of add's answers
  Operation operation = Operation::kDivide;          ///< modular
  std::string column = {};                           ///< series
  std::int64_t lags = 0, horizon = 0;                ///< series; 0: the task's own
  std::int64_t n_train = 0;                          ///< series, table: rows known before the test; 0: all
  std::int64_t origin = 0, n_origins = 1;            ///< series: which block of its last fifth is the test
  Attend attend = Attend::kLags;                     ///< series
  std::string target = {}, leave_out = {};           ///< table: columns; leave_out has commas between them
  table::Missing missing = table::Missing::kRefuse;  ///< series, table
  /// Follows from the model's family: kSourceToTarget asks copy, reverse, sort and histogram for that form.
  Reading reading = Reading::kWholeSequence;
};

/// A source of examples. Example i of a split is a function of (seed, split, i) alone; splits share no
/// example unless `overlap_note` says otherwise. Objects are immutable and may be read from several threads.
class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskShape& shape() const = 0;
  /// Examples first .. first+count-1. The training stream has no end; the others have `size(split)` examples.
  virtual Batch batch(Split split, std::int64_t first, std::int64_t count) const = 0;
  /// Number of examples of kValidation or kTest.
  virtual std::int64_t size(Split split) const = 0;
  /// A token as a person reads it: "7", "a", "\u2423" for a space. Valid UTF-8.
  virtual std::string token_text(std::int64_t token) const = 0;
  /// Tokens of what a person typed: "3 1 4" for symbol tasks, characters for text.
  /// @throws DataError naming the unknown word or character (U+....) and what is known.
  virtual std::vector<std::int64_t> parse_tokens(std::string_view input) const = 0;
  /// A label as a person reads it: a token's text where labels are tokens, else its number.
  virtual std::string label_text(std::int64_t label) const;
  /// What a person calls position `at` of a batch's flat list: its token, or the row that it stands for.
  virtual std::string position_text(const Batch& batch, std::size_t at) const {
    return token_text(batch.tokens[at]);
  }
  /// Of tokens, as parse_tokens reads them.
  virtual Spelling spelling() const { return Spelling::kWords; }
  /// A token as it is typed. Valid UTF-8.
  virtual std::string typed_text(std::int64_t token) const { return token_text(token); }
  /// What may be continued when nobody says what: the first validation example, up to where its answer
  /// starts.
  virtual std::vector<std::int64_t> first_prompt() const;
  /// Text and reader for the source's vocabulary.  @throws DataError for tasks without a source.
  virtual std::string source_token_text(std::int64_t token) const;
  virtual std::vector<std::int64_t> parse_source(std::string_view input) const;
  /// What the best possible predictor loses at each position of the batch (nats, or squared error under
  /// Measure::kReal), 0 where it is not counted; empty: nothing.
  virtual std::vector<double> best_losses(const Batch&) const { return {}; }
  /// One sentence when splits cannot be kept apart or a test repeats examples, else empty.
  virtual std::string overlap_note() const { return {}; }
  /// Test examples on which free-running accuracy is measured (0: not a measure for this task).
  virtual std::int64_t n_free_running() const { return 0; }
};

/// Tokens as they are typed.
std::string typed(const Task& task, std::span<const std::int64_t> tokens);

/// One line of `headtorch tasks`.
struct TaskDescription {
  std::string name, summary;
  std::int64_t n_symbols = 0, seq_len = 0, n_test = 0;  ///< 0: by file
  Reading reading = Reading::kWholeSequence;
  bool translates = false;  ///< Reading::kSourceToTarget is another form of it
};
std::vector<TaskDescription> describe_tasks();

/// Builds a task.  @throws UsageError for an unknown name (listing the known ones), ConfigError for a size
/// out of range, InputMissing or DataError for a text that is absent, empty, too short or not UTF-8 (with the
/// byte offset).
std::unique_ptr<Task> make_task(const TaskOptions& options, std::uint64_t seed);

}  // namespace headtorch::tasks
