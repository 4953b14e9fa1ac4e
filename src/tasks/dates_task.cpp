#include "src/tasks/dates_task.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "src/core/philox.hpp"
#include "src/tasks/date_formats.hpp"
#include "src/tasks/sizes.hpp"
#include "src/tasks/split.hpp"
#include "src/tasks/target_form.hpp"

namespace headtorch::tasks {
namespace {

using std::chrono::year_month_day;

constexpr std::int64_t kSourceLength = 29;  // "Wednesday, September 30, 2026"
constexpr std::int64_t kAnswerLength = 10;
constexpr std::int64_t kTest = 1000;
constexpr std::uint64_t kStream = 0x7464'0000;  // keeps these draws apart from other uses of the seed
constexpr std::chrono::sys_days kFirstDay = std::chrono::year(kFirstYear) / 1 / 1,
                                kEnd = std::chrono::year(kLastYear + 1) / 1 / 1;

/// All characters that a date can be written with: every month and every day of the week in all formats.
std::u32string source_characters() {
  std::u32string characters = U"0123456789";
  for (auto day = kFirstDay; day < kFirstDay + std::chrono::days(366); ++day) {
    for (std::int64_t format = 0; format < kDateFormats; ++format) {
      for (const char c : date_text(day, format)) {
        const auto character = static_cast<char32_t>(c);
        if (characters.find(character) == std::u32string::npos) characters += character;
      }
    }
  }
  std::sort(characters.begin(), characters.end());
  return characters;
}

year_month_day draw_date(Random& random, Split split) {
  while (true) {
    const year_month_day date = kFirstDay + std::chrono::days(random.below((kEnd - kFirstDay).count()));
    const std::array<std::int64_t, 3> numbers = {static_cast<int>(date.year()),
                                                 static_cast<unsigned>(date.month()),
                                                 static_cast<unsigned>(date.day())};
    if (split_of(numbers) == split) return date;
  }
}

}  // namespace

DatesTask::DatesTask(const TaskOptions& options, std::uint64_t seed) : seed_(seed) {
  static const std::u32string kSourceCharacters = source_characters();
  characters_ = Alphabet(kSourceCharacters);
  answers_ = Alphabet(U"-0123456789");
  check_fixed_size("seq_len", options.seq_len, kAnswerLength);
  check_fixed_size("n_symbols", options.n_symbols, answers_.size() + 1);
  shape_ = {"dates", Reading::kSourceToTarget, answers_.size() + 1, answers_.size(), kAnswerLength};
  shape_.start = answers_.size();
  shape_.source.n_symbols = characters_.size();
  shape_.source.seq_len = kSourceLength;
}

std::int64_t DatesTask::size(Split split) const {
  return split == Split::kTrain ? std::numeric_limits<std::int64_t>::max() : kTest;
}

Batch DatesTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  Batch batch;
  batch.examples = count;
  batch.length = kAnswerLength;
  batch.source.length = kSourceLength;
  batch.source.tokens.resize(static_cast<std::size_t>(count * kSourceLength), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    Random random(seed_, static_cast<std::uint64_t>(first + i), kStream + static_cast<std::uint64_t>(split));
    const year_month_day date = draw_date(random, split);
    const std::string text = date_text(date, random.below(kDateFormats));
    std::transform(text.begin(), text.end(), batch.source.tokens.begin() + i * kSourceLength,
                   [&](char c) { return characters_.token(static_cast<char32_t>(c)); });
    batch.source.lengths.push_back(static_cast<std::int64_t>(text.size()));
    for (const char c : iso_text(date)) batch.labels.push_back(answers_.token(static_cast<char32_t>(c)));
  }
  batch.tokens = targets_of(batch.labels, kAnswerLength, shape_.start);
  return batch;
}

std::string DatesTask::token_text(std::int64_t token) const {
  return token == shape_.start ? kStartText : answers_.text(token);
}

std::vector<std::int64_t> DatesTask::parse_tokens(std::string_view input) const {
  return answers_.parse(input, "an ISO date");
}

std::vector<std::int64_t> DatesTask::parse_source(std::string_view input) const {
  std::vector<std::int64_t> source = characters_.parse(input, "dates");
  check_source_length(shape_, source);
  return source;
}

}  // namespace headtorch::tasks
