#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "src/tasks/digit_images.hpp"
#include "src/tasks/patches.hpp"
#include "tests/support/errors.hpp"
#include "tests/tasks/examples.hpp"

namespace headtorch::tasks {
namespace {

using test::make;
using test::make_with;
using test::Row;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> counting(std::size_t n) {
  std::vector<float> image(n);
  std::iota(image.begin(), image.end(), 0.0F);
  return image;
}

std::vector<float> patch_of(const std::vector<float>& all, std::int64_t pixels, std::int64_t i) {
  return test::row(all, pixels, i);
}

TEST(Patches, G40_pixels_stay_together) {
  const std::vector<float> of4 = patches(counting(64), {8, 8}, 4);
  EXPECT_THAT(patch_of(of4, 16, 0), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27));
  EXPECT_THAT(patch_of(of4, 16, 1), ElementsAre(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
  EXPECT_THAT(patch_of(of4, 16, 2),
              ElementsAre(32, 33, 34, 35, 40, 41, 42, 43, 48, 49, 50, 51, 56, 57, 58, 59));
  const std::vector<float> of2 = patches(counting(64), {8, 8}, 2);
  EXPECT_THAT(patch_of(of2, 4, 0), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(patch_of(of2, 4, 4), ElementsAre(16, 17, 24, 25));
  EXPECT_THAT(patch_of(of2, 4, 15), ElementsAre(54, 55, 62, 63));
}

TEST(Patches, G40_unpatch_is_the_inverse_for_any_size) {
  for (const ImageSize size : {ImageSize{8, 8}, {4, 12}, {6, 2}, {1, 1}, {12, 18}}) {
    for (std::int64_t patch = 1; patch <= 6; ++patch) {
      const std::vector<float> image = counting(static_cast<std::size_t>(size.rows * size.columns));
      if (size.rows % patch != 0 || size.columns % patch != 0) continue;
      EXPECT_EQ(unpatch(patches(image, size, patch), size, patch), image);
    }
  }
  EXPECT_EQ(patches(counting(6), {2, 3}, 1), counting(6));
}

TEST(Patches, G40_a_size_that_does_not_divide_is_refused) {
  using headtorch::test::fails;
  for (const std::int64_t patch : {3, 0, -1, 16}) {
    EXPECT_TRUE(fails(
        [&] {
          patches(counting(64), {8, 8}, patch);
        },
        ExitCode::kBadConfig,
        AllOf(HasSubstr(std::to_string(patch) + " does not divide"), HasSubstr("8 x 8"))));
    EXPECT_TRUE(fails([&] { unpatch(counting(64), {8, 8}, patch); }, ExitCode::kBadConfig));
  }
  EXPECT_TRUE(fails([] { patches(counting(32), {4, 8}, 8); }, ExitCode::kBadConfig));
  EXPECT_TRUE(fails([] { patches(counting(63), {8, 8}, 2); }, ExitCode::kInternal, HasSubstr("63")));
}

/// Rows of the file: 64 pixels and a label.
std::map<Row, std::int64_t> file_images() {
  std::ifstream file(HEADTORCH_SOURCE_DIR "/data/digits.csv");
  std::string line;
  std::getline(file, line);
  std::map<Row, std::int64_t> images;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Row row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stoll(cell));
    const std::int64_t label = row.back();
    row.pop_back();
    images[row] = label;
  }
  return images;
}

/// The 8x8 pixels, 0..16, of 16 patches of 2x2.
Row pixels_of(const std::vector<float>& patch_features) {
  Row pixels(64);
  for (std::size_t p = 0; p < 16; ++p) {
    for (std::size_t k = 0; k < 4; ++k)
      pixels[(p / 4 * 2 + k / 2) * 8 + p % 4 * 2 + k % 2] = std::lround(16.0F * patch_features[p * 4 + k]);
  }
  return pixels;
}

TEST(Digits, every_image_of_the_file_is_in_one_split_with_its_label) {
  std::map<Row, std::int64_t> left = file_images();
  EXPECT_EQ(left.size(), 1797);
  const auto task = make("digits");
  const std::int64_t n_train = 1797 - task->size(Split::kValidation) - task->size(Split::kTest);
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const Batch batch = task->batch(split, 0, split == Split::kTrain ? n_train : task->size(split));
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      const Row tokens = test::tokens_of(batch, i), labels = test::labels_of(batch, i);
      ASSERT_EQ(tokens[0], 0);
      ASSERT_EQ(std::count(tokens.begin(), tokens.end(), 1), 16);
      ASSERT_EQ(std::count(labels.begin(), labels.end(), kNotCounted), 16);
      const std::vector<float> features = test::row(batch.features, 17 * 4, i);
      for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(features[k], 0.0F);
      const auto found = left.find(pixels_of({features.begin() + 4, features.end()}));
      ASSERT_NE(found, left.end());
      ASSERT_EQ(found->second, labels[0]);
      left.erase(found);  // so that no image comes twice, in training once an epoch
    }
  }
  EXPECT_TRUE(left.empty());
}

TEST(Digits, every_epoch_has_all_images_in_an_order_of_its_own) {
  const auto task = make("digits");
  const std::int64_t n = 1797 - task->size(Split::kValidation) - task->size(Split::kTest);
  const Batch both = task->batch(Split::kTrain, 0, 2 * n), second = task->batch(Split::kTrain, n, n);
  std::vector<std::vector<float>> epochs[2];
  for (std::int64_t i = 0; i < 2 * n; ++i)
    epochs[i / n].push_back(test::row(both.features, both.length * kPatchPixels, i));
  for (std::int64_t i = 0; i < n; ++i)
    EXPECT_EQ(epochs[1][static_cast<std::size_t>(i)],
              test::row(second.features, second.length * kPatchPixels, i));
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& images : epochs) std::sort(images.begin(), images.end());
  EXPECT_EQ(epochs[0], epochs[1]);
}

TEST(Digits, about_7_tenths_train_and_2_test) {
  const auto task = make("digits");
  EXPECT_NEAR(static_cast<double>(task->size(Split::kTest)), 359.4, 85);  // five standard deviations
  EXPECT_NEAR(static_cast<double>(task->size(Split::kValidation)), 179.7, 64);
  EXPECT_EQ(task->shape().n_classes, 10);
  EXPECT_EQ(task->shape().image.first, 1);
  EXPECT_EQ(task->label_text(9), "9");
  EXPECT_TRUE(headtorch::test::fails([] { make_with({.name = "digits", .seq_len = 16}); },
                                     ExitCode::kBadConfig, HasSubstr("seq_len = 16: expected 17")));
}

TEST(Digits, G40_patch_features_are_the_pixels) {
  DigitImage image;
  std::iota(image.pixels.begin(), image.pixels.end(), 0);
  const std::vector<float> features = digit_patches(image);
  EXPECT_THAT(test::row(features, 4, 4), ElementsAre(1.0F, 17 / 16.0F, 24 / 16.0F, 25 / 16.0F));
}

std::int64_t sum(const Row& pixels, std::size_t top, std::size_t left, std::size_t rows,
                 std::size_t columns) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t row = i / 8, column = i % 8;
    if (row >= top && row < top + rows && column >= left && column < left + columns) total += pixels[i];
  }
  return total;
}

/// The best of several, or "tie".
std::string best(const std::vector<std::pair<std::string, std::int64_t>>& named) {
  std::string name;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (const auto& [candidate, value] : named) {
    if (value == most) name = "tie";
    if (value > most) name = candidate, most = value;
  }
  return name;
}

/// Answers from the words of the question alone.
std::string answer(const std::string& question, const Row& p) {
  const auto has = [&](const char* word) { return question.find(word) != std::string::npos; };
  if (has("quadrant")) {
    const std::int64_t sign = has("darkest") ? -1 : 1;
    return best({{"top-left", sign * sum(p, 0, 0, 4, 4)},
                 {"top-right", sign * sum(p, 0, 4, 4, 4)},
                 {"bottom-left", sign * sum(p, 4, 0, 4, 4)},
                 {"bottom-right", sign * sum(p, 4, 4, 4, 4)}});
  }
  if (has("row"))
    return best({{"first", sum(p, 0, 0, 2, 8)},
                 {"second", sum(p, 2, 0, 2, 8)},
                 {"third", sum(p, 4, 0, 2, 8)},
                 {"fourth", sum(p, 6, 0, 2, 8)}});
  if (has("corner")) return sum(p, has("bottom-") ? 6 : 0, has("-right") ? 6 : 0, 2, 2) == 0 ? "yes" : "no";
  if (has("left brighter than right")) return best({{"yes", sum(p, 0, 0, 8, 4)}, {"no", sum(p, 0, 4, 8, 4)}});
  if (has("top brighter than bottom")) return best({{"yes", sum(p, 0, 0, 4, 8)}, {"no", sum(p, 4, 0, 4, 8)}});
  return "?";
}

TEST(DigitsQuestion, looking_at_the_image_scores_1_and_no_answer_is_rare) {
  const auto task = make("digits-question");
  EXPECT_EQ(task->shape().start, -1);
  std::map<std::string, std::map<std::string, int>> counts;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const Batch batch = task->batch(split, 0, split == Split::kTrain ? 8000 : task->size(split));
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      std::string question;
      for (const std::int64_t token : test::tokens_of(batch, i)) question += task->token_text(token) + " ";
      const Row labels = test::labels_of(batch, i);
      ASSERT_EQ(std::count(labels.begin(), labels.end(), kNotCounted), 5);
      ASSERT_TRUE(question.ends_with("? "));
      const std::string given = task->label_text(labels.back());
      ASSERT_EQ(given, answer(question, pixels_of(test::row(batch.source.features, 64, i)))) << question;
      ++counts[question][given];
    }
  }
  EXPECT_EQ(counts.size(), 9);
  for (const auto& [question, answers] : counts) {
    int all = 0;
    for (const auto& [given, count] : answers) all += count;
    for (const auto& [given, count] : answers) {
      EXPECT_GT(count, all / 10) << question << given;
      EXPECT_LT(count, all * 3 / 4) << question << given;
    }
  }
}

TEST(DigitsQuestion, images_of_the_test_are_never_in_training) {
  const auto task = make("digits-question");
  std::set<Row> tests;
  const Batch batch = task->batch(Split::kTest, 0, task->size(Split::kTest)),
              training = task->batch(Split::kTrain, 0, 20000);
  for (std::int64_t i = 0; i < batch.examples; ++i)
    tests.insert(pixels_of(test::row(batch.source.features, 64, i)));
  for (std::int64_t i = 0; i < training.examples; ++i)
    ASSERT_FALSE(tests.contains(pixels_of(test::row(training.source.features, 64, i))));
  EXPECT_EQ(static_cast<std::int64_t>(tests.size()), make("digits")->size(Split::kTest));
}

TEST(DigitsQuestion, typed_questions_are_read) {
  const auto task = make("digits-question");
  EXPECT_EQ(task->parse_tokens("which quadrant is the brightest ?").size(), 6);
  EXPECT_TRUE(headtorch::test::fails([&] { task->parse_tokens("which quadrant is green ?"); },
                                     ExitCode::kBadData,
                                     AllOf(HasSubstr("\"green\""), HasSubstr("brightest"))));
}

}  // namespace
}  // namespace headtorch::tasks
