#include "src/tasks/text_task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/core/philox.hpp"
#include "src/tasks/symbol_task.hpp"
#include "src/tasks/text_file.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::uint64_t kStream = 0x7462'0000;  // keeps these draws apart from other uses of the seed

}  // namespace

TextTask::TextTask(const TaskOptions& options, std::uint64_t seed) : seed_(seed) {
  if (options.file.empty())
    throw ConfigError("task", "file is not set: text needs a UTF-8 text, --file FILE");
  if (options.n_symbols != 0) {
    throw ConfigError("task", fmt::format("n_symbols = {}: not for text, whose symbols are those of its file",
                                          options.n_symbols));
  }
  const std::int64_t seq_len = size_in_range("seq_len", options.seq_len, 64, 1, kMaxSeqLen);
  const std::u32string text = decode_text(read_file(options.file), options.file);
  if (text.empty()) throw DataError(options.file, "is empty: expected a text");

  const auto n = static_cast<std::int64_t>(text.size());
  n_train_ = n / 10 * 9 + n % 10 * 9 / 10;
  if (std::min(n_train_, n - n_train_) < seq_len + 1) {
    throw DataError(
        options.file,
        fmt::format("has {} characters, {} for training and {} for validation: with seq_len = {} expected "
                    "at least {} in each",
                    n, n_train_, n - n_train_, seq_len, seq_len + 1));
  }
  std::vector<bool> occurs(0x110000, false);
  for (const char32_t character : text) occurs[character] = true;
  std::u32string symbols;
  for (char32_t character = 0; character < occurs.size(); ++character) {
    if (occurs[character]) symbols += character;
  }
  symbols_ = Alphabet(symbols);
  text_.reserve(text.size());
  for (const char32_t character : text) text_.push_back(static_cast<std::int32_t>(symbols_.token(character)));

  const std::int64_t n_symbols = symbols_.size();
  shape_ = {"text", Reading::kLeftToRight, n_symbols, n_symbols, seq_len};
}

std::int64_t TextTask::size(Split split) const {
  if (split == Split::kTrain) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t labels = static_cast<std::int64_t>(text_.size()) - n_train_;
  return (labels + shape_.seq_len - 1) / shape_.seq_len;
}

Batch TextTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  Batch batch;
  batch.examples = count;
  batch.length = shape_.seq_len;
  const auto places = static_cast<std::size_t>(count * shape_.seq_len);
  batch.tokens.assign(places, 0);
  batch.labels.assign(places, kNotCounted);
  for (std::int64_t i = first; i < first + count; ++i) {
    std::int64_t start = 0;
    if (split == Split::kTrain) {
      start = Random(seed_, static_cast<std::uint64_t>(i), kStream).below(n_train_ - shape_.seq_len);
    } else {
      // The last training character is the first input: the label after it is the first one held out.
      start = n_train_ - 1 + i * shape_.seq_len;
    }
    const std::int64_t length = std::min(shape_.seq_len, static_cast<std::int64_t>(text_.size()) - 1 - start);
    const auto from = text_.begin() + start;
    const auto to = (i - first) * shape_.seq_len;
    std::copy_n(from, length, batch.tokens.begin() + to);
    std::copy_n(from + 1, length, batch.labels.begin() + to);
  }
  return batch;
}

std::string TextTask::token_text(std::int64_t token) const { return symbols_.text(token); }

std::vector<std::int64_t> TextTask::parse_tokens(std::string_view input) const {
  return symbols_.parse(input, "the text");
}

std::vector<std::int64_t> TextTask::first_prompt() const {
  return {symbols_.has(U'\n') ? symbols_.token(U'\n') : text_.front()};
}

std::string TextTask::overlap_note() const {
  return fmt::format(
      "The last tenth of the text, {} characters, is both validation and test; no training window reaches "
      "it.",
      static_cast<std::int64_t>(text_.size()) - n_train_);
}

}  // namespace headtorch::tasks
