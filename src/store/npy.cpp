#include "src/store/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <string>

#include "src/core/error.hpp"

// 6 bytes "\x93NUMPY", major and minor version (one byte each), length of the header (2 bytes in version 1, 4
// in 2 and 3, little-endian), the header, the data. The header is a Python dict with the keys 'descr',
// 'fortran_order' and 'shape', spaces and a line break at its end.

namespace headtorch::store {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxDimensions = 32;

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> column_major;
  std::optional<std::vector<std::int64_t>> shape;
};

/// The little of Python's literals that such a header needs.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Header read() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !header.descr) {
        header.descr = quoted();
      } else if (key == "fortran_order" && !header.column_major) {
        header.column_major = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = tuple();
      } else {
        fail();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!text_.empty() || !header.descr || !header.column_major || !header.shape) fail();
    return header;
  }

 private:
  [[noreturn]] void fail() const {
    throw DataError(file_,
                    "has a header that cannot be read, expected one array of numbers as numpy.save writes");
  }

  void skip_spaces() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }

  std::string quoted() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_.front();
    const std::size_t end = text_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) fail();
    const std::string_view inside = text_.substr(1, end - 1);
    if (inside.find('\\') != std::string_view::npos) fail();
    text_.remove_prefix(end + 1);
    return std::string(inside);
  }

  bool boolean() {
    skip_spaces();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    fail();
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || sizes.size() == kMaxDimensions) fail();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!text_.empty() && text_.front() == 'L') text_.remove_prefix(1);  // Python 2 wrote long integers so
      sizes.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::string_view text_;
  std::string_view file_;
};

struct Kind {
  FloatType type;
  std::endian order;
};

Kind kind_of(std::string_view descr, std::string_view file) {
  if (descr.size() == 3 && (descr.front() == '<' || descr.front() == '>' || descr.front() == '=')) {
    const std::endian order = descr.front() == '>' ? std::endian::big : std::endian::little;
    const std::string_view name = descr.substr(1);
    if (name == "f2") return {FloatType::kHalf, order};
    if (name == "f4") return {FloatType::kSingle, order};
    if (name == "f8") return {FloatType::kDouble, order};
  }
  throw DataError(file, fmt::format("holds numbers of type \"{}\", expected float16, float32 or float64",
                                    one_line(descr)));
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Array read_npy(std::string_view bytes, std::string_view file) {
  const std::size_t version_at = kMagic.size();
  if (!bytes.starts_with(kMagic) || bytes.size() < version_at + 4)
    throw DataError(file, "is no .npy file, expected one that starts with \"\\x93NUMPY\" and a version");
  const int major = static_cast<unsigned char>(bytes[version_at]);
  if (major < 1 || major > 3)
    throw DataError(file, fmt::format("is of .npy version {}, expected 1, 2 or 3", major));
  const std::size_t length_size = major == 1 ? 2 : 4;
  const std::size_t header_at = version_at + 2 + length_size;
  const std::size_t length =
      bytes.size() < header_at ? 0 : little_endian(bytes.substr(version_at + 2, length_size));
  if (bytes.size() < header_at || bytes.size() - header_at < length)
    throw DataError(file, "is cut off within its header, expected a whole .npy file");

  const Header header = HeaderReader(bytes.substr(header_at, length), file).read();
  const Kind kind = kind_of(*header.descr, file);
  const std::string_view data = bytes.substr(header_at + length);
  std::uint64_t expected = static_cast<std::uint64_t>(bytes_of(kind.type));
  bool fits = true;
  for (const std::int64_t size : *header.shape)
    fits = fits && !__builtin_mul_overflow(expected, static_cast<std::uint64_t>(size), &expected);
  if (!fits || expected != data.size()) {
    throw DataError(file, fmt::format("has {} bytes of data, expected {} for shape [{}]", data.size(),
                                      fits ? std::to_string(expected) : "more than fit in 64 bits",
                                      fmt::join(*header.shape, ", ")));
  }
  Array array{*header.shape, read_floats(data, kind.type, kind.order)};
  if (*header.column_major) array.values = from_column_major(array.values, array.shape);
  return array;
}

}  // namespace headtorch::store
