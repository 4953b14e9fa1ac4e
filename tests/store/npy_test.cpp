#include "src/store/npy.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "src/core/philox.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch::store {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

nlohmann::json golden_cases() {
  return nlohmann::json::parse(test::slurp(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/npy.json"))
      .at("cases");
}

std::string version_1(std::string header, const std::string& data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

TEST(Npy, reads_what_numpy_wrote) {
  for (const auto& one : golden_cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const Array array = read_npy(from_hex(one.at("hex")), "w.npy");
    EXPECT_EQ(array.shape, one.at("shape").get<std::vector<std::int64_t>>());
    EXPECT_EQ(array.values, one.at("values").get<std::vector<float>>());
  }
}

TEST(Npy, G19_fortran_order_is_put_row_major) {
  // Columns (0, 3), (1, 4), (2, 5) in the file are rows (0, 1, 2), (3, 4, 5).
  std::string data;
  for (const float value : {0.F, 3.F, 1.F, 4.F, 2.F, 5.F})
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  const Array array =
      read_npy(version_1("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", data), "w.npy");
  EXPECT_EQ(array.values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, not_a_number_and_infinite_halves) {
  const Array array = read_npy(version_1("{\"shape\": (3L,), \"fortran_order\": False, \"descr\": \"<f2\"}",
                                         std::string("\x00\x7e\x00\x7c\x00\xfc", 6)),
                               "w.npy");
  EXPECT_TRUE(std::isnan(array.values[0]));
  EXPECT_EQ(array.values[1], INFINITY);
  EXPECT_EQ(array.values[2], -INFINITY);
}

TEST(Npy, refuses_other_headers_naming_the_file) {
  const std::string four(4, '\0');
  const auto refused = [&](const std::string& bytes, const char* what) {
    return test::fails([&] { read_npy(bytes, "w.npy"); }, ExitCode::kBadData,
                       AllOf(HasSubstr("w.npy"), HasSubstr(what)));
  };
  EXPECT_TRUE(refused("", "is no .npy file"));
  EXPECT_TRUE(refused(std::string("\x93NUMPY\x04\x00\x00\x00", 10), "version 4"));
  EXPECT_TRUE(refused(version_1("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", four), "<i8"));
  EXPECT_TRUE(refused(version_1("{'descr': '|O', 'fortran_order': False, 'shape': ()}", four), "|O"));
  for (const char* header :
       {"", "{}", "{'descr': '<f4'}", "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} and more"}) {
    EXPECT_TRUE(refused(version_1(header, four), "header that cannot be read")) << header;
  }
  const std::string huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}";
  EXPECT_TRUE(refused(version_1(huge, four), "has 4 bytes of data"));
}

TEST(Npy, a_file_cut_off_anywhere_is_refused) {
  const std::string whole = from_hex(golden_cases().front().at("hex"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(test::fails([&] { read_npy(std::string_view(whole).substr(0, size), "w.npy"); },
                            ExitCode::kBadData, HasSubstr("w.npy")))
        << size;
  }
  EXPECT_TRUE(test::fails([&] { read_npy(whole + "x", "w.npy"); }, ExitCode::kBadData));
}

TEST(Npy, damaged_bytes_are_read_or_refused_and_nothing_else) {
  const std::string whole = from_hex(golden_cases().front().at("hex"));
  Random random(1, 0);
  int read = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (std::int64_t n = random.below(4); n >= 0; --n) {
      bytes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(random.below(256));
    }
    try {
      const Array array = read_npy(bytes, "w.npy");
      const std::int64_t size =
          std::accumulate(array.shape.begin(), array.shape.end(), std::int64_t{1}, std::multiplies<>());
      EXPECT_TRUE(std::cmp_equal(array.values.size(), size));
      ++read;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("w.npy"));
      ++refused;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace headtorch::store
