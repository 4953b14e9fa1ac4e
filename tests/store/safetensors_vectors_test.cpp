#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "src/store/safetensors.hpp"
#include "tests/support/errors.hpp"

// Files on the edge of the format, with the verdict of the reference reader (PyPI safetensors 0.8.0) and
// ours. Where they differ, the reason stands beside it.

namespace headtorch::store {
namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}

std::string file(const std::string& header, const std::string& data = "") {
  return with_length(header.size(), header + data);
}

std::string zeros(std::size_t n) { return std::string(n, '\0'); }

/// A header with one tensor "t"; an empty argument leaves that field out.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                const std::string& more = "") {
  std::string fields;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) fields += (fields.empty() ? "" : ",") + std::string("\"") + name + "\":" + value;
  };
  add("dtype", dtype);
  add("shape", shape);
  add("data_offsets", offsets);
  return R"({"t":{)" + fields + more + "}}";
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

enum class Verdict { kAccepted, kRefused };

struct Vector {
  std::string name, bytes;
  Verdict reference, ours;
};

std::vector<Vector> vectors() {
  constexpr Verdict yes = Verdict::kAccepted, no = Verdict::kRefused;
  const std::string t = one("\"F32\"", "[2]", "[0,8]"), info = t.substr(5, t.size() - 6), z8 = zeros(8);
  const auto f32 = [](const char* shape, const char* offsets) { return one("\"F32\"", shape, offsets); };
  const auto pair = [](const char* first, const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)") + first +
           R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":)" + second + "}}";
  };
  const auto named = [&](const std::string& name) { return "{\"" + name + "\":" + info + "}"; };
  return {
      {"ok", file(t, z8), yes, yes},
      {"empty file", "", no, no},
      {"7 bytes", std::string(7, '\1'), no, no},
      {"length 0", file(""), no, no},
      {"length beyond the end", with_length(1000, t + z8), no, no},
      {"length 2^64-1", with_length(~std::uint64_t{0}, "{}"), no, no},
      {"length 100000001", with_length(100'000'001, "{}"), no, no},
      {"length 2^63", with_length(std::uint64_t{1} << 63, "{}"), no, no},
      {"not UTF-8", file("{\"\xff\":1}"), no, no},
      {"not JSON", file("{"), no, no},
      {"an array", file("[]"), no, no},
      {"a text", file("\"t\""), no, no},
      {"a number", file("1"), no, no},
      {"null", file("null"), no, no},
      {"space before", file(" " + t, z8), yes, yes},
      {"NUL before", file(zeros(1) + t, z8), no, no},
      {"NUL after", file(t + zeros(2), z8), no, no},
      {"spaces after", file(t + "   ", z8), yes, yes},
      {"line break and tab after", file(t + "\n\t", z8), yes, yes},
      {"byte-order mark", file("\xef\xbb\xbf" + t, z8), no, no},
      {"junk after", file(t + "x", z8), no, no},
      {"two documents", file(t + "{}", z8), no, no},
      // trust.md: a name given twice is refused, whatever it says; the reference keeps the last.
      {"tensor twice, the same", file("{\"t\":" + info + ",\"t\":" + info + "}", z8), yes, no},
      {"tensor twice, escaped", file("{\"t\":" + info + ",\"\\u0074\":" + info + "}", z8), yes, no},
      {"metadata name twice", file(R"({"__metadata__":{"a":"1","a":"2"},"t":)" + info + "}", z8), yes, no},
      {"tensor twice, other offsets",
       file("{\"t\":" + info + R"(,"t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", zeros(16)), no,
       no},
      {"field twice", file(one("\"F32\"", "[2]", "[0,8]", R"(,"dtype":"I32")"), z8), no, no},
      {"metadata twice", file(R"({"__metadata__":{},"__metadata__":{},"t":)" + info + "}", z8), no, no},
      {"metadata of a number", file(R"({"__metadata__":{"a":1}})"), no, no},
      {"metadata of null", file(R"({"__metadata__":{"a":null}})"), no, no},
      {"metadata null", file(R"({"__metadata__":null})"), yes, yes},
      {"metadata nested", file(R"({"__metadata__":{"a":{"b":"c"}}})"), no, no},
      {"metadata an array", file(R"({"__metadata__":[]})"), no, no},
      {"metadata a text", file(R"({"__metadata__":"a"})"), no, no},
      {"dtype unknown", file(one("\"F31\"", "[2]", "[0,8]"), z8), no, no},
      {"dtype in small letters", file(one("\"f32\"", "[2]", "[0,8]"), z8), no, no},
      {"dtype a number", file(one("1", "[2]", "[0,8]"), z8), no, no},
      {"dtype null", file(one("null", "[2]", "[0,8]"), z8), no, no},
      {"no dtype", file(one("", "[2]", "[0,8]"), z8), no, no},
      {"no shape", file(one("\"F32\"", "", "[0,8]"), z8), no, no},
      {"no offsets", file(one("\"F32\"", "[2]", ""), z8), no, no},
      {"unknown field", file(one("\"F32\"", "[2]", "[0,8]", ",\"x\":1"), z8), yes, yes},
      {"unknown field, nested",
       file(one("\"F32\"", "[2]", "[0,8]", R"(,"x":{"a":[1,{"b":null}],"dtype":-2.5})"), z8), yes, yes},
      {"tensor null", file(R"({"t":null})"), no, no},
      {"tensor a number", file(R"({"t":1})"), no, no},
      {"3 offsets", file(f32("[2]", "[0,8,9]"), z8), no, no},
      {"1 offset", file(f32("[2]", "[0]"), z8), no, no},
      {"no offset", file(f32("[2]", "[]"), z8), no, no},
      {"offsets nested", file(f32("[2]", "[[0,8]]"), z8), no, no},
      {"size negative", file(f32("[-2]", "[0,8]"), z8), no, no},
      {"size 2.0", file(f32("[2.0]", "[0,8]"), z8), no, no},
      {"size 2e0", file(f32("[2e0]", "[0,8]"), z8), no, no},
      {"size a text", file(f32("[\"2\"]", "[0,8]"), z8), no, no},
      {"size nested", file(f32("[[2]]", "[0,8]"), z8), no, no},
      {"size 02", file(f32("[02]", "[0,8]"), z8), no, no},
      {"size -0", file(f32("[-0]", "[0,0]")), no, no},
      {"shape a number", file(f32("2", "[0,8]"), z8), no, no},
      {"offset negative", file(f32("[2]", "[-8,0]"), z8), no, no},
      {"begin after end", file(f32("[2]", "[8,0]"), z8), no, no},
      {"gap at the start", file(f32("[2]", "[8,16]"), zeros(16)), no, no},
      {"gap in the middle", file(pair("[0,8]", "[12,20]"), zeros(20)), no, no},
      {"overlap", file(pair("[0,8]", "[4,12]"), zeros(12)), no, no},
      {"the same bytes twice", file(pair("[0,8]", "[0,8]"), z8), no, no},
      {"a byte too many", file(t, z8 + "x"), no, no},
      {"a byte too few", file(t, zeros(7)), no, no},
      {"shape too large for its bytes", file(f32("[3]", "[0,8]"), z8), no, no},
      {"size that wraps around", file(one("\"I32\"", "[2,18446744073709551614]", "[0,8]"), z8), no, no},
      {"bytes that wrap around", file(one("\"I32\"", "[2,9223372036854775807]", "[0,8]"), z8), no, no},
      {"size beyond 64 bits", file(one("\"I32\"", "[18446744073709551616]", "[0,8]"), z8), no, no},
      {"overflow, then 0", file(one("\"I32\"", "[4294967296,4294967296,0]", "[0,0]")), no, no},
      {"0, then overflow", file(one("\"I32\"", "[0,4294967296,4294967296]", "[0,0]")), yes, yes},
      // A size that no signed 64-bit shape can hold.
      {"0, then 2^64-1", file(one("\"I32\"", "[0,18446744073709551615]", "[0,0]")), yes, no},
      {"no elements", file(f32("[0,5]", "[0,0]")), yes, yes},
      {"no elements, in between",
       file(R"({"a":)" + info + R"(,"z":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})", z8), yes, yes},
      {"no elements, inside another",
       file(R"({"a":)" + info + R"(,"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})", z8), no, no},
      {"scalar", file(f32("[]", "[0,4]"), zeros(4)), yes, yes},
      {"header in another order than the data", file(pair("[8,16]", "[0,8]"), zeros(16)), yes, yes},
      {"header length no multiple of 8", file(t + " ", z8), yes, yes},
      {"no tensors", file("{}"), yes, yes},
      {"name empty", file(named(""), z8), yes, yes},
      {"name like a path", file(named("../../etc/passwd"), z8), yes, yes},
      {"name with U+0000", file(named("a\\u0000b"), z8), yes, yes},
      {"name with half a surrogate pair", file(named("\\ud800"), z8), no, no},
      {"name with a line break", file(named("a\nb"), z8), no, no},
      {"comment", file("/*x*/" + t, z8), no, no},
      {"comma too many", file(t.substr(0, t.size() - 1) + ",}", z8), no, no},
      {"single quotes", file("{'t':1}", z8), no, no},
      {"NaN", file(R"({"__metadata__":{"a":NaN}})"), no, no},
      {"nested 200 deep", file("{\"t\":" + repeated("[", 200) + repeated("]", 200) + "}"), no, no},
      {"nested 100000 deep", file("{\"t\":" + repeated("[", 100000) + repeated("]", 100000) + "}"), no, no},
      {"unknown field nested 100000 deep",
       file(one("\"F32\"", "[2]", "[0,8]", ",\"x\":" + repeated("[", 100000) + repeated("]", 100000)), z8),
       no, no},
      {"100000 dimensions of 1", file(one("\"F32\"", "[1" + repeated(",1", 99999) + "]", "[0,4]"), zeros(4)),
       yes, yes},
      {"BOOL of 2", file(one("\"BOOL\"", "[1]", "[0,1]"), "\2"), yes, yes},
      {"NaN in the data", file(t, "\xff\xff\xff\x7f" + zeros(2) + "\x80\x7f"), yes, yes},
      {"F4 at half a byte", file(one("\"F4\"", "[3]", "[0,2]"), zeros(2)), no, no},
      // Types that the format has and headtorch does not read.
      {"F8_E4M3", file(one("\"F8_E4M3\"", "[2]", "[0,2]"), zeros(2)), yes, no},
      {"F8_E5M2", file(one("\"F8_E5M2\"", "[2]", "[0,2]"), zeros(2)), yes, no},
      {"C64", file(one("\"C64\"", "[1]", "[0,8]"), z8), yes, no},
      // The reference's JSON library takes a list for the three fields; the format's description does not
      // know it.
      {"tensor as a list", file(R"({"t":["F32",[2],[0,8]]})", z8), yes, no},
  };
}

TEST(SafetensorsVectors, are_read_or_refused_as_they_should_be) {
  int refused_by_us_alone = 0;
  for (const Vector& v : vectors()) {
    SCOPED_TRACE(v.name);
    if (v.ours == Verdict::kAccepted) {
      EXPECT_EQ(v.reference, Verdict::kAccepted) << "we must refuse what the reference refuses";
      EXPECT_NO_THROW(read_safetensors(v.bytes, "a.safetensors"));
    } else {
      refused_by_us_alone += v.reference == Verdict::kAccepted;
      EXPECT_TRUE(test::fails([&] { read_safetensors(v.bytes, "a.safetensors"); }, ExitCode::kBadData,
                              ::testing::StartsWith("[a.safetensors] ")));
    }
  }
  EXPECT_EQ(refused_by_us_alone, 8);
}

TEST(SafetensorsVectors, faults_are_named) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"7 bytes", "has 7 bytes"},
      {"length beyond the end", "1000 bytes, but only"},
      {"length 100000001", "100000001 bytes: expected at most 100000000"},
      {"not JSON", "not JSON"},
      {"an array", "the header is an array: expected an object"},
      {"NUL after", "zero byte at 54"},
      {"byte-order mark", "byte-order mark"},
      {"tensor twice, escaped", "the name \"t\" occurs twice"},
      {"metadata name twice", "the metadata name \"a\" occurs twice"},
      {"field twice", "tensor \"t\" has dtype twice"},
      {"metadata twice", "\"__metadata__\" occurs twice"},
      {"metadata of a number", "the metadata \"a\" is a number: expected a text"},
      {"dtype unknown", "dtype F31, which headtorch does not read: expected one of U64"},
      {"F8_E4M3", "dtype F8_E4M3"},
      {"no shape", "tensor \"t\" has no shape"},
      {"1 offset", "fewer than two data_offsets"},
      {"3 offsets", "more than two data_offsets"},
      {"size negative", "a negative number in its shape"},
      {"size 2.0", "a fraction"},
      {"gap in the middle", "tensor \"b\" has data_offsets [12, 20]: expected a start at 8"},
      {"overlap", "tensor \"b\" has data_offsets [4, 12]: expected a start at 8"},
      {"a byte too many", "has 9 bytes of data, of which the header names 8"},
      {"a byte too few", "ends at byte 8 of the data, which has 7"},
      {"shape too large for its bytes", "has 8 bytes: its shape and dtype F32 need 12"},
      {"overflow, then 0", "does not fit in 64 bits"},
  };
  for (const auto& [name, message] : expected) {
    for (const Vector& v : vectors()) {
      if (v.name != name) continue;
      EXPECT_TRUE(test::fails([&] { read_safetensors(v.bytes, "f"); }, ExitCode::kBadData,
                              ::testing::HasSubstr(message)));
    }
  }
}

}  // namespace
}  // namespace headtorch::store
