#include "src/report/tensorboard.hpp"

#include <fmt/format.h>
#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <protozero/pbf_writer.hpp>

#include "src/core/error.hpp"

namespace headtorch::report {
namespace {

constexpr std::size_t kBuckets = 30;  // as TensorBoard's own
constexpr std::size_t kMostBytes = std::numeric_limits<int>::max();

// Field numbers of the messages.
enum EventField : protozero::pbf_tag_type { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum ValueField : protozero::pbf_tag_type {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kHisto = 5,
  kTensor = 8,
  kMetadata = 9
};
enum ImageField : protozero::pbf_tag_type { kHeight = 1, kWidth = 2, kColorspace = 3, kEncoded = 4 };
enum HistogramField : protozero::pbf_tag_type {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7
};
enum TensorField : protozero::pbf_tag_type { kDtype = 1, kTensorShape = 2, kStringVal = 8 };
constexpr protozero::pbf_tag_type kSummaryValue = 1, kPluginData = 1, kPluginName = 1, kDim = 2, kDimSize = 1;
constexpr std::int32_t kRgb = 3, kString = 7;  // of a colour space, of a tensor's type

template <typename Integer>
void append_little_endian(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint32_t masked_checksum(std::string_view bytes) {
  constexpr std::uint32_t kAll = 0xffffffff, kMask = 0xa282ead8;
  auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));  // only read
  const std::uint32_t crc = crc32_iscsi(data, static_cast<int>(bytes.size()), kAll) ^ kAll;
  return (crc >> 15 | crc << 17) + kMask;
}

std::string record(const std::string& data) {
  if (data.size() > kMostBytes) {
    throw Error(ExitCode::kInternal, "TensorBoard", fmt::format("an event of {} bytes", data.size()));
  }
  std::string bytes;
  bytes.reserve(data.size() + 16);
  append_little_endian(bytes, static_cast<std::uint64_t>(data.size()));
  append_little_endian(bytes, masked_checksum(bytes));
  bytes += data;
  append_little_endian(bytes, masked_checksum(data));
  return bytes;
}

/// Width or height in a PNG's first chunk: big-endian, at a fixed place.
std::int32_t png_size(std::string_view png, std::size_t at) {
  if (png.size() < at + 4) throw Error(ExitCode::kInternal, "TensorBoard", "a picture that is no PNG");
  std::int32_t size = 0;
  for (const char byte : png.substr(at, 4)) size = size << 8 | static_cast<unsigned char>(byte);
  return size;
}

/// Adds the value's field to a message Summary.Value.
struct ValueWriter {
  protozero::pbf_writer& message;

  void operator()(double number) const { message.add_float(kSimpleValue, static_cast<float>(number)); }

  void operator()(const Histogram& histogram) const {
    protozero::pbf_writer histo(message, kHisto);
    double num = 0.0;
    for (const double count : histogram.counts) num += count;
    histo.add_double(kMin, histogram.min);
    histo.add_double(kMax, histogram.max);
    histo.add_double(kNum, num);
    histo.add_double(kSum, histogram.sum);
    histo.add_double(kSumSquares, histogram.sum_of_squares);
    histo.add_packed_double(kBucketLimit, histogram.right_edges.begin(), histogram.right_edges.end());
    histo.add_packed_double(kBucket, histogram.counts.begin(), histogram.counts.end());
  }

  void operator()(const PngPicture& picture) const {
    constexpr std::size_t kWidthAt = 16, kHeightAt = 20;
    protozero::pbf_writer image(message, kImage);
    image.add_int32(kHeight, png_size(picture.bytes, kHeightAt));
    image.add_int32(kWidth, png_size(picture.bytes, kWidthAt));
    image.add_int32(kColorspace, kRgb);
    image.add_bytes(kEncoded, picture.bytes);
  }

  void operator()(const MarkdownText& markdown) const {
    {
      protozero::pbf_writer metadata(message, kMetadata);
      protozero::pbf_writer plugin(metadata, kPluginData);
      plugin.add_string(kPluginName, "text");
    }
    protozero::pbf_writer tensor(message, kTensor);
    tensor.add_enum(kDtype, kString);
    {
      protozero::pbf_writer shape(tensor, kTensorShape);
      protozero::pbf_writer dim(shape, kDim);
      dim.add_int64(kDimSize, 1);
    }
    tensor.add_bytes(kStringVal, markdown.text);
  }
};

template <typename Number>
std::optional<Histogram> histogram_of(std::span<const Number> values) {
  Histogram result;
  std::size_t n = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    result.min = n == 0 ? value : std::min(result.min, value);
    result.max = n == 0 ? value : std::max(result.max, value);
    result.sum += value;
    result.sum_of_squares += value * value;
    ++n;
  }
  if (n == 0) return std::nullopt;
  const double width = (result.max - result.min) / kBuckets;
  if (!(width > 0.0) || !std::isfinite(width)) {
    result.min -= 0.5;
    result.max += 0.5;
    result.right_edges = {result.max};
    result.counts = {static_cast<double>(n)};
    return result;
  }
  for (std::size_t i = 1; i < kBuckets; ++i)
    result.right_edges.push_back(result.min + width * static_cast<double>(i));
  result.right_edges.push_back(result.max);
  result.counts.resize(kBuckets);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const auto bucket = static_cast<std::size_t>((value - result.min) / width);
    result.counts[std::min(bucket, kBuckets - 1)] += 1.0;
  }
  return result;
}

}  // namespace

std::optional<Histogram> histogram(std::span<const double> values) { return histogram_of(values); }
std::optional<Histogram> histogram(std::span<const float> values) { return histogram_of(values); }

std::string event_file_name(std::int64_t seconds, std::string_view host, std::int64_t process) {
  std::string name(host.empty() ? "localhost" : host);
  for (char& letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (code > 127 || (std::isalnum(code) == 0 && letter != '.' && letter != '-' && letter != '_'))
      letter = '-';
  }
  return fmt::format("events.out.tfevents.{}.{}.{}", seconds, name, process);
}

std::string event_file_head(double wall_time) {
  std::string data;
  protozero::pbf_writer message(data);
  message.add_double(kWallTime, wall_time);
  message.add_string(kFileVersion, "brain.Event:2");
  return record(data);
}

std::string event(double wall_time, std::int64_t step, std::span<const EventValue> values) {
  std::string data;
  protozero::pbf_writer message(data);
  message.add_double(kWallTime, wall_time);
  message.add_int64(kStep, step);
  {
    protozero::pbf_writer summary(message, kSummary);
    for (const EventValue& value : values) {
      protozero::pbf_writer entry(summary, kSummaryValue);
      entry.add_string(kTag, value.tag);
      std::visit(ValueWriter{entry}, value.value);
    }
  }
  return record(data);
}

MarkdownText code_block(std::string_view code, std::string_view language) {
  std::size_t longest = 0, run = 0;
  for (const char letter : code) {
    run = letter == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  return {fmt::format("{}{}\n{}{}{}\n", fence, language, code, code.ends_with('\n') ? "" : "\n", fence)};
}

}  // namespace headtorch::report
