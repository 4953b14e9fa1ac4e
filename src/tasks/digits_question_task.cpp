#include "src/tasks/digits_question_task.hpp"

#include <algorithm>

#include "src/tasks/digit_images.hpp"
#include "src/tasks/digit_questions.hpp"
#include "src/tasks/epochs.hpp"
#include "src/tasks/sizes.hpp"
#include "src/tasks/target_form.hpp"

namespace headtorch::tasks {
namespace {

constexpr std::int64_t kPatch = 1;  // token, as in the task digits

}  // namespace

DigitsQuestionTask::DigitsQuestionTask(const TaskOptions& options, std::uint64_t seed)
    : seed_(seed), words_(0, question_words()), answers_(0, answer_words()) {
  check_fixed_size("seq_len", options.seq_len, kQuestionLength);
  check_fixed_size("n_symbols", options.n_symbols, words_.size());
  shape_ = {"digits-question", Reading::kSourceToTarget, words_.size(), answers_.size(), kQuestionLength};
  shape_.source = {source_words_.size(), kDigitPatches, kPatchPixels, {}};
  shape_.source.image = {kDigitSize.rows / kDigitPatch, kDigitSize.columns / kDigitPatch, kDigitPatch, 0};
  for (const DigitQuestion& question : digit_questions())
    questions_.push_back(words_.parse(question.text, shape_.name));
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const std::vector<DigitImage>& images = digit_images(split);
    for (std::size_t image = 0; image < images.size(); ++image) {
      for (std::size_t question = 0; question < questions_.size(); ++question) {
        const auto answer = digit_questions()[question].answer(images[image]);
        if (!answer) continue;
        examples_[static_cast<std::size_t>(split)].push_back({image, question, answers_.token(*answer)});
      }
    }
  }
}

std::int64_t DigitsQuestionTask::size(Split split) const { return size_of(split, examples(split).size()); }

Batch DigitsQuestionTask::batch(Split split, std::int64_t first, std::int64_t count) const {
  check_examples(*this, split, first, count);
  Epochs epochs(seed_, split, static_cast<std::int64_t>(examples(split).size()));
  Batch batch;
  batch.examples = count;
  batch.length = kQuestionLength;
  batch.labels.resize(static_cast<std::size_t>(count * kQuestionLength), kNotCounted);
  batch.source.length = kDigitPatches;
  batch.source.tokens.resize(static_cast<std::size_t>(count * kDigitPatches), kPatch);
  batch.source.lengths.resize(static_cast<std::size_t>(count), kDigitPatches);
  for (std::int64_t i = 0; i < count; ++i) {
    const Example& example = examples(split)[epochs.at(first + i)];
    const std::vector<std::int64_t>& question = questions_[example.question];
    batch.tokens.insert(batch.tokens.end(), question.begin(), question.end());
    batch.labels[static_cast<std::size_t>((i + 1) * kQuestionLength - 1)] = example.answer;
    const std::vector<float> pixels = digit_patches(digit_images(split)[example.image]);
    batch.source.features.insert(batch.source.features.end(), pixels.begin(), pixels.end());
  }
  return batch;
}

std::vector<std::int64_t> DigitsQuestionTask::parse_tokens(std::string_view input) const {
  return words_.parse(input, shape_.name);
}

std::vector<std::int64_t> DigitsQuestionTask::parse_source(std::string_view input) const {
  std::vector<std::int64_t> source = source_words_.parse(input, shape_.name);
  check_source_length(shape_, source);
  return source;
}

}  // namespace headtorch::tasks
