#include "src/report/tensorboard.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "src/core/error.hpp"

// That TensorBoard reads it back is shown in tests/interop.

namespace headtorch::report {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

TEST(TensorBoard, a_file_starts_with_the_bytes_that_tensorflow_writes) {
  // Every event file of TensorFlow begins so: length 24, its masked CRC-32C, then the field wall_time.
  EXPECT_THAT(event_file_head(1.0), StartsWith(std::string("\x18\0\0\0\0\0\0\0\xa3\x7fK\"\x09", 13)));
  EXPECT_THAT(event_file_head(1.0), SizeIs(8 + 4 + 24 + 4));
}

TEST(TensorBoard, a_record_holds_its_length) {
  const std::vector<EventValue> values = {{"loss", 0.5}};
  const std::string bytes = event(1.0, 3, values);
  EXPECT_EQ(static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])), bytes.size() - 16);
  EXPECT_EQ(bytes, event(1.0, 3, values));
}

TEST(TensorBoard, a_histogram_counts_every_number_once) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(std::sin(i) * 3.0);
  const Histogram histogram = *report::histogram(std::span<const double>(values));
  EXPECT_EQ(histogram.min, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max, *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max, histogram.right_edges.back());
  EXPECT_NEAR(histogram.sum, std::accumulate(values.begin(), values.end(), 0.0), 1e-9);
  ASSERT_THAT(histogram.counts, SizeIs(histogram.right_edges.size()));
  double left = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const double right = histogram.right_edges[i];
    const bool last = i + 1 == histogram.counts.size();
    const auto inside = std::count_if(values.begin(), values.end(), [&](double value) {
      return value >= left && (value < right || (last && value <= right));
    });
    EXPECT_EQ(histogram.counts[i], static_cast<double>(inside)) << i;
    left = right;
  }
}

TEST(TensorBoard, a_histogram_of_one_value_and_of_none) {
  const std::vector<float> same = {2.0F, 2.0F, 2.0F};
  const Histogram histogram = *report::histogram(std::span<const float>(same));
  EXPECT_THAT(histogram.counts, ElementsAre(3.0));
  EXPECT_EQ(histogram.min, 1.5);
  EXPECT_THAT(histogram.right_edges, ElementsAre(2.5));
  EXPECT_FALSE(report::histogram(std::span<const float>()));
}

TEST(TensorBoard, G16_what_is_no_number_is_not_counted) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {std::nan(""), 1.0, -infinity, 3.0, infinity};
  const Histogram histogram = *report::histogram(std::span<const double>(values));
  EXPECT_EQ(histogram.sum, 4.0);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0), 2.0);
  const std::vector<double> none = {std::nan(""), infinity};
  EXPECT_FALSE(report::histogram(std::span<const double>(none)));
}

TEST(TensorBoard, a_file_name_never_leaves_its_folder) {
  EXPECT_EQ(event_file_name(12, "my-host.local", 34), "events.out.tfevents.12.my-host.local.34");
  EXPECT_EQ(event_file_name(12, "../a b/\xc3\xa9", 34), "events.out.tfevents.12...-a-b---.34");
  EXPECT_EQ(event_file_name(12, "", 34), "events.out.tfevents.12.localhost.34");
}

TEST(TensorBoard, code_that_holds_a_fence_gets_a_longer_one) {
  EXPECT_EQ(code_block("a = 1\n", "toml").text, "```toml\na = 1\n```\n");
  EXPECT_EQ(code_block("```\nx", "").text, "````\n```\nx\n````\n");
}

TEST(TensorBoard, what_is_no_picture_is_refused) {
  const std::vector<EventValue> values = {{"heatmaps/layer-0", PngPicture{"no PNG"}}};
  EXPECT_THROW(event(1.0, 3, values), Error);
}

}  // namespace
}  // namespace headtorch::report
