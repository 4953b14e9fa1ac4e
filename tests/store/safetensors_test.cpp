#include "src/store/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/core/philox.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch::store {
namespace {

using ::testing::HasSubstr;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

nlohmann::json golden() {
  return nlohmann::json::parse(
      test::slurp(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/safetensors.json"));
}

StoredTensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  StoredTensor tensor{DType::kF32, std::move(shape), std::string(values.size() * sizeof(float), '\0')};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

TensorFile example() {
  TensorFile file;
  file.tensors["layers.0.weight"] = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  file.tensors["step"] = {DType::kI64, {}, std::string("\x07\0\0\0\0\0\0\0", 8)};
  file.tensors["empty"] = floats({0, 5}, {});
  file.tensors["mask"] = {DType::kBool, {3}, std::string("\1\0\1", 3)};
  file.metadata = {{"format", "pt"}};
  return file;
}

void expect_same(const TensorFile& a, const TensorFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : a.tensors) {
    ASSERT_TRUE(b.tensors.contains(name)) << name;
    EXPECT_EQ(tensor.dtype, b.tensors.at(name).dtype);
    EXPECT_EQ(tensor.shape, b.tensors.at(name).shape);
    EXPECT_EQ(tensor.bytes, b.tensors.at(name).bytes);
  }
}

TEST(Safetensors, what_the_reference_wrote_is_read_and_written_again_to_the_byte) {
  const nlohmann::json files = golden().at("files");
  ASSERT_EQ(files.size(), 7);
  for (const auto& [name, hex] : files.items()) {
    SCOPED_TRACE(name);
    const std::string bytes = from_hex(hex);
    EXPECT_EQ(write_safetensors(read_safetensors(bytes, name)), bytes);
  }
}

TEST(Safetensors, values_of_the_reference_arrive) {
  const TensorFile file = read_safetensors(from_hex(golden().at("files").at("sizes of zero")), "f");
  EXPECT_EQ(file.tensors.at("scalar").shape, std::vector<std::int64_t>{});
  EXPECT_EQ(file.tensors.at("scalar").bytes, floats({}, {2.5F}).bytes);
  EXPECT_EQ(file.tensors.at("empty").shape, (std::vector<std::int64_t>{0, 3}));
  const TensorFile each = read_safetensors(from_hex(golden().at("files").at("one of each")), "f");
  EXPECT_EQ(each.tensors.size(), 12);
  EXPECT_EQ(each.tensors.at("t.uint16").dtype, DType::kU16);
  EXPECT_EQ(each.tensors.at("t.float64").bytes.size(), 48);
}

TEST(Safetensors, G19_bytes_of_a_transpose) {
  const std::string written = write_safetensors({{{"t", floats({3, 2}, {0, 3, 1, 4, 2, 5})}}, {}});
  EXPECT_EQ(written, from_hex(golden().at("files").at("G19 transpose")));
  const std::uint64_t header = static_cast<unsigned char>(written[0]);
  EXPECT_EQ(written.size(), 8 + header + 24);
  EXPECT_THAT(written, HasSubstr(R"("data_offsets":[0,24])"));
  EXPECT_EQ(written.substr(8 + header), from_hex("00000000000040400000803f00008040000000400000a040"));
}

TEST(Safetensors, writing_and_reading_gives_the_same) {
  const std::string bytes = write_safetensors(example());
  expect_same(read_safetensors(bytes, "f"), example());
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0);
}

TEST(Safetensors, what_does_not_fit_is_not_written) {
  const auto refused = [](const std::string& name, const StoredTensor& tensor, const char* message) {
    return test::fails(
        [&] {
          write_safetensors({{{name, tensor}}, {}});
        },
        ExitCode::kBadData, HasSubstr(message));
  };
  EXPECT_TRUE(refused("a", {DType::kF32, {2, 3}, std::string(20, '\0')},
                      "tensor \"a\" of shape [2, 3] and dtype F32 has 20"));
  EXPECT_TRUE(refused("a", {DType::kF32, {-1, -1}, std::string(4, '\0')}, "[-1, -1]"));
  EXPECT_TRUE(refused("a", {DType::kF64, {std::int64_t{1} << 61, 8}, ""}, "has 0 bytes"));
  EXPECT_TRUE(refused("__metadata__", floats({1}, {1}), "another name"));
  EXPECT_TRUE(refused("\xff", floats({1}, {1}), "not UTF-8"));
  EXPECT_TRUE(test::fails(
      [] {
        write_safetensors({{}, {{"a", "\xc3"}}});
      },
      ExitCode::kBadData, HasSubstr("not UTF-8")));
}

TEST(Safetensors, element_sizes) {
  EXPECT_EQ(bytes_per_element(DType::kBool), 1);
  EXPECT_EQ(bytes_per_element(DType::kBF16), 2);
  EXPECT_EQ(bytes_per_element(DType::kF16), 2);
  EXPECT_EQ(bytes_per_element(DType::kF32), 4);
  EXPECT_EQ(bytes_per_element(DType::kF64), 8);
  EXPECT_EQ(bytes_per_element(DType::kI64), 8);
}

TEST(Safetensors, every_cut_is_refused) {
  const std::string bytes = write_safetensors(example());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(test::fails([&] { read_safetensors(bytes.substr(0, size), "f"); }, ExitCode::kBadData))
        << size;
  }
}

TEST(Safetensors, damaged_files_are_refused_or_read_but_never_crash) {
  const std::string good = write_safetensors(example());
  Random random(11, 0);
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (std::int64_t n = 1 + random.below(4); n > 0; --n) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
      const auto kind = random.below(4);
      const auto byte = static_cast<char>(random.below(256));
      if (kind == 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      if (kind == 1) bytes[at] = byte;
      if (kind == 2) bytes.insert(at, 1, byte);
      if (kind == 3) bytes.erase(at, 1);
    }
    try {
      for (const auto& [name, tensor] : read_safetensors(bytes, "f").tensors) {
        std::int64_t elements = 1;
        for (const std::int64_t size : tensor.shape) elements *= size;
        ASSERT_EQ(static_cast<std::int64_t>(tensor.bytes.size()), elements * bytes_per_element(tensor.dtype));
      }
      ++read;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace headtorch::store
