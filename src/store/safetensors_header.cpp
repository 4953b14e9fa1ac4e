#include "src/store/safetensors_header.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/core/error.hpp"

// {"__metadata__": {NAME: TEXT, ...},
//  NAME: {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}, ...}
// Read event by event: a document tree would keep only the last of two equal names.

namespace headtorch::store {
namespace {

constexpr std::size_t kMaxDepth = 128;  // as the reference's JSON reader

class HeaderEvents {
 public:
  using Json = nlohmann::json;
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit HeaderEvents(std::string_view file) : file_(file) {}

  bool null() {
    if (place_ == Place::kEntryValue && key_ == kMetadata) {
      place_ = Place::kEntries;
      return true;
    }
    return other_value("null");
  }
  bool boolean(bool) { return other_value("true or false"); }
  bool number_integer(number_integer_t) { return other_value("a negative number"); }
  bool number_float(number_float_t, const string_t&) {
    return other_value("a fraction or a number beyond 64 bits");
  }
  bool binary(binary_t&) { return other_value("binary"); }

  bool number_unsigned(number_unsigned_t value) {
    if (place_ == Place::kShape) {
      tensor_->shape.push_back(value);
      return true;
    }
    if (place_ == Place::kOffsets && n_offsets_ < 2) {
      (n_offsets_++ == 0 ? tensor_->begin : tensor_->end) = value;
      return true;
    }
    if (place_ == Place::kOffsets) fail("has more than two data_offsets");
    return other_value("a number");
  }

  bool string(string_t& value) {
    if (place_ == Place::kMetadataValue) {
      header_.metadata.emplace(key_, value);
      place_ = Place::kMetadata;
      return true;
    }
    if (place_ == Place::kField && field_ == "dtype") {
      tensor_->dtype = value;
      place_ = Place::kFields;
      return true;
    }
    return other_value("a text");
  }

  bool start_object(std::size_t) {
    if (place_ == Place::kStart) {
      place_ = Place::kEntries;
    } else if (place_ == Place::kEntryValue && key_ == kMetadata) {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kEntryValue) {
      tensor_ = &header_.tensors[key_];
      fields_.clear();
      place_ = Place::kFields;
    } else {
      return start_skipped("an object");
    }
    return true;
  }

  bool key(string_t& name) {
    switch (place_) {
      case Place::kEntries:
        key_ = name;
        place_ = Place::kEntryValue;
        if (key_ == kMetadata ? std::exchange(has_metadata_, true) : header_.tensors.contains(key_)) {
          fail_file(fmt::format("the name \"{}\" occurs twice: expected each once", key_));
        }
        break;
      case Place::kMetadata:
        key_ = name;
        place_ = Place::kMetadataValue;
        if (header_.metadata.contains(key_)) {
          fail_file(fmt::format("the metadata name \"{}\" occurs twice: expected each once", key_));
        }
        break;
      case Place::kFields:
        field_ = name;
        place_ = Place::kField;
        if (!fields_.insert(field_).second) fail(fmt::format("has {} twice: expected once", field_));
        break;
      default:
        break;
    }
    return true;
  }

  bool end_object() {
    if (depth_skipped_ > 0) return end_skipped();
    if (place_ == Place::kFields) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field)) fail(fmt::format("has no {}", field));
      }
    }
    place_ = Place::kEntries;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::kField && field_ == "shape") {
      place_ = Place::kShape;
    } else if (place_ == Place::kField && field_ == "data_offsets") {
      place_ = Place::kOffsets;
      n_offsets_ = 0;
    } else {
      return start_skipped("an array");
    }
    return true;
  }

  bool end_array() {
    if (depth_skipped_ > 0) return end_skipped();
    if (place_ == Place::kOffsets && n_offsets_ != 2) fail("has fewer than two data_offsets");
    place_ = Place::kFields;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) {
    fail_file(fmt::format("the header is not JSON at its byte {}", position));
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  enum class Place {
    kStart,
    kEntries,
    kEntryValue,
    kMetadata,
    kMetadataValue,
    kFields,
    kField,
    kShape,
    kOffsets
  };
  static constexpr std::string_view kMetadata = "__metadata__";

  [[noreturn]] void fail_file(const std::string& what) const { throw DataError(file_, what); }
  [[noreturn]] void fail(const std::string& what) const {
    fail_file(fmt::format("tensor \"{}\" {}", key_, what));
  }

  bool in_unknown_field() const {
    return place_ == Place::kField && field_ != "dtype" && field_ != "shape" && field_ != "data_offsets";
  }

  /// A value that only an unknown field may hold.
  bool other_value(std::string_view kind) {
    if (depth_skipped_ > 0) return true;
    if (in_unknown_field()) {
      place_ = Place::kFields;
      return true;
    }
    wrong_value(kind);
  }

  bool start_skipped(std::string_view kind) {
    if (depth_skipped_ == 0 && !in_unknown_field()) wrong_value(kind);
    if (++depth_skipped_ > kMaxDepth) fail(fmt::format("is nested deeper than {}", kMaxDepth));
    return true;
  }

  bool end_skipped() {
    if (--depth_skipped_ == 0) place_ = Place::kFields;
    return true;
  }

  [[noreturn]] void wrong_value(std::string_view kind) const {
    switch (place_) {
      case Place::kStart:
        fail_file(fmt::format("the header is {}: expected an object", kind));
      case Place::kEntryValue:
        fail(fmt::format("is {}: expected an object", kind));
      case Place::kMetadataValue:
        fail_file(fmt::format("the metadata \"{}\" is {}: expected a text", key_, kind));
      case Place::kShape:
        fail(fmt::format("has {} in its shape: expected whole numbers from 0", kind));
      case Place::kOffsets:
        fail(fmt::format("has {} in data_offsets: expected whole numbers from 0", kind));
      default:
        fail(fmt::format("has {} for {}: expected {}", kind, field_,
                         field_ == "dtype" ? "a text" : "an array"));
    }
  }

  std::string_view file_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::string key_, field_;
  HeaderTensor* tensor_ = nullptr;
  std::set<std::string> fields_;
  int n_offsets_ = 0;
  std::size_t depth_skipped_ = 0;
  bool has_metadata_ = false;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::string_view file) {
  // The JSON library skips a byte-order mark and takes NUL for the end of its input; the format allows
  // neither.
  if (json.starts_with("\xef\xbb\xbf"))
    throw DataError(file, "the header starts with a byte-order mark: expected JSON");
  if (const auto nul = json.find('\0'); nul != std::string_view::npos) {
    throw DataError(file, fmt::format("the header has a zero byte at {}: expected JSON", nul));
  }
  HeaderEvents events(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  return events.take();
}

}  // namespace headtorch::store
