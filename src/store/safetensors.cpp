#include "src/store/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "src/core/error.hpp"
#include "src/store/safetensors_header.hpp"

// The format, byte by byte (https://huggingface.co/docs/safetensors):
//   8 bytes   n, unsigned, little-endian, at most 100,000,000
//   n bytes   the header, JSON in UTF-8 (safetensors_header.cpp), spaces at its end
//   the rest  the tensors, one after the other without a gap, row-major, little-endian

namespace headtorch::store {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are stored in the machine's own byte order");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataName = "__metadata__";

struct TypeEntry {
  DType dtype;
  const char* name;
  std::int64_t bytes;
};

// In the order in which the reference writer puts the tensors of a file.
constexpr TypeEntry kTypes[] = {
    {DType::kU64, "U64", 8},   {DType::kI64, "I64", 8}, {DType::kF64, "F64", 8},   {DType::kF32, "F32", 4},
    {DType::kU32, "U32", 4},   {DType::kI32, "I32", 4}, {DType::kBF16, "BF16", 2}, {DType::kF16, "F16", 2},
    {DType::kU16, "U16", 2},   {DType::kI16, "I16", 2}, {DType::kI8, "I8", 1},     {DType::kU8, "U8", 1},
    {DType::kBool, "BOOL", 1},
};

const TypeEntry& entry_of(DType dtype) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const TypeEntry& entry) { return entry.dtype == dtype; });
}

/// shape's product times the element's size; nothing when an intermediate product leaves 64 bits, in the
/// order written.
template <typename Sizes>
std::optional<std::uint64_t> byte_count(const Sizes& shape, DType dtype) {
  std::uint64_t count = 1;
  for (const auto size : shape) {
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) return std::nullopt;
  }
  if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(entry_of(dtype).bytes), &count))
    return std::nullopt;
  return count;
}

DType parse_dtype(const std::string& name, const std::string& tensor, std::string_view file) {
  for (const TypeEntry& entry : kTypes) {
    if (name == entry.name) return entry.dtype;
  }
  std::vector<std::string> known;
  for (const TypeEntry& entry : kTypes) known.push_back(entry.name);
  throw DataError(file,
                  fmt::format("tensor \"{}\" has dtype {}, which headtorch does not read: expected one of {}",
                              tensor, name, fmt::join(known, ", ")));
}

/// JSON text of a string.
std::string quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw DataError("safetensors", "a name or metadata text to be written is not UTF-8");
  }
}

}  // namespace

std::int64_t bytes_per_element(DType dtype) { return entry_of(dtype).bytes; }

std::string write_safetensors(const TensorFile& file) {
  std::string header = "{", data;
  const auto add = [&](const std::string& entry) {
    if (header.size() > 1) header += ',';
    header += entry;
  };
  if (!file.metadata.empty()) {
    std::string texts;
    for (const auto& [name, text] : file.metadata) {
      if (!texts.empty()) texts += ',';
      texts += quoted(name) + ':' + quoted(text);
    }
    add(fmt::format("\"{}\":{{{}}}", kMetadataName, texts));
  }
  for (const TypeEntry& type : kTypes) {
    for (const auto& [name, tensor] : file.tensors) {
      if (tensor.dtype != type.dtype) continue;
      const bool negative =
          std::any_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size < 0; });
      const auto bytes = byte_count(tensor.shape, tensor.dtype);
      if (name == kMetadataName || negative || bytes != tensor.bytes.size()) {
        throw DataError("safetensors",
                        fmt::format("tensor \"{}\" of shape [{}] and dtype {} has {} bytes: expected {}",
                                    name, fmt::join(tensor.shape, ", "), type.name, tensor.bytes.size(),
                                    name == kMetadataName ? "another name" : "as many as its shape holds"));
      }
      add(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", quoted(name),
                      type.name, fmt::join(tensor.shape, ","), data.size(),
                      data.size() + tensor.bytes.size()));
      data += tensor.bytes;
    }
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  if (length > kMaxHeaderBytes) {
    throw DataError("safetensors",
                    fmt::format("the header has {} bytes: expected at most {}", length, kMaxHeaderBytes));
  }
  std::array<char, kLengthBytes> prefix;
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return std::string(prefix.data(), kLengthBytes) + header + data;
}

TensorFile read_safetensors(std::string_view bytes, std::string_view file) {
  if (bytes.size() < kLengthBytes) {
    throw DataError(
        file, fmt::format("has {} bytes: expected a safetensors file, which starts with a length of {} bytes",
                          bytes.size(), kLengthBytes));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  bytes.remove_prefix(kLengthBytes);
  if (length > kMaxHeaderBytes) {
    throw DataError(file,
                    fmt::format("the header has {} bytes: expected at most {}", length, kMaxHeaderBytes));
  }
  if (length > bytes.size()) {
    throw DataError(file, fmt::format("the header has {} bytes, but only {} follow: the file is cut off",
                                      length, bytes.size()));
  }
  SafetensorsHeader header =
      parse_safetensors_header(bytes.substr(0, static_cast<std::size_t>(length)), file);
  const std::string_view data = bytes.substr(static_cast<std::size_t>(length));

  TensorFile result;
  result.metadata = std::move(header.metadata);
  std::vector<std::pair<const std::string*, const HeaderTensor*>> in_order;
  for (const auto& [name, tensor] : header.tensors) in_order.emplace_back(&name, &tensor);
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::uint64_t covered = 0;
  for (const auto& [name, tensor] : in_order) {
    const DType dtype = parse_dtype(tensor->dtype, *name, file);
    if (tensor->begin != covered || tensor->end < tensor->begin) {
      throw DataError(
          file,
          fmt::format("tensor \"{}\" has data_offsets [{}, {}]: expected a start at {}, without a gap or an "
                      "overlap",
                      *name, tensor->begin, tensor->end, covered));
    }
    const auto expected = byte_count(tensor->shape, dtype);
    const bool too_large = std::any_of(tensor->shape.begin(), tensor->shape.end(),
                                       [](std::uint64_t size) { return !std::in_range<std::int64_t>(size); });
    if (!expected || too_large) {
      throw DataError(file,
                      fmt::format("tensor \"{}\" has a shape whose size does not fit in 64 bits", *name));
    }
    if (*expected != tensor->end - tensor->begin) {
      throw DataError(file, fmt::format("tensor \"{}\" has {} bytes: its shape and dtype {} need {}", *name,
                                        tensor->end - tensor->begin, tensor->dtype, *expected));
    }
    covered = tensor->end;
    if (covered > data.size()) {
      throw DataError(
          file, fmt::format("tensor \"{}\" ends at byte {} of the data, which has {}: the file is cut off",
                            *name, covered, data.size()));
    }
    StoredTensor& stored = result.tensors[*name];
    stored.dtype = dtype;
    stored.shape.assign(tensor->shape.begin(), tensor->shape.end());
    stored.bytes = data.substr(static_cast<std::size_t>(tensor->begin), static_cast<std::size_t>(*expected));
  }
  if (covered != data.size()) {
    throw DataError(file,
                    fmt::format("has {} bytes of data, of which the header names {}", data.size(), covered));
  }
  return result;
}

}  // namespace headtorch::store
