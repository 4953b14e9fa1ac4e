#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What TensorBoard reads, as bytes: a file is event_file_head() and then events, one after the other.
//
// A record is: length of data (8 bytes, little-endian), masked checksum of those 8 bytes (4 bytes), data,
// masked checksum of data (4 bytes). Checksum: CRC-32C; masked: rotated right by 15, plus 0xa282ead8. Data:
// the protocol buffer message Event. Source: tensorflow/core/lib/io/record_writer.h and
// tensorflow/core/{util/event.proto, framework/summary.proto, framework/histogram.proto}; the forms that
// torch.utils.tensorboard writes, which every reader knows.

namespace headtorch::report {

/// Counts of `values` in buckets of equal width from the smallest to the largest; numbers only.
struct Histogram {
  double min = 0.0, max = 0.0;
  double sum = 0.0, sum_of_squares = 0.0;
  std::vector<double> right_edges, counts;
};
/// 30 buckets, one (half a unit around) when all values are equal. Nothing when none is finite.
std::optional<Histogram> histogram(std::span<const double> values);
std::optional<Histogram> histogram(std::span<const float> values);

/// The bytes of a picture file as `draw_heatmap` gives them.
struct PngPicture {
  std::string bytes;
};
/// Markdown.
struct MarkdownText {
  std::string text;
};

/// One value under a name; groups in the name end in '/'.
struct EventValue {
  std::string tag;
  std::variant<double, Histogram, PngPicture, MarkdownText> value;  ///< a number is stored in float32
};

/// `events.out.tfevents.SECONDS.HOST.PROCESS`; SECONDS since 1970.  `host`: anything; what no file name
/// should hold becomes '-'.
std::string event_file_name(std::int64_t seconds, std::string_view host, std::int64_t process);

/// Must come first in a file.  @param wall_time seconds since 1970.
std::string event_file_head(double wall_time);

/// What was known after `step` steps.
std::string event(double wall_time, std::int64_t step, std::span<const EventValue> values);

/// A block of code in Markdown that shows `code` as it is, whatever it holds.
MarkdownText code_block(std::string_view code, std::string_view language);

}  // namespace headtorch::report
