#include "src/report/arrays.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"
#include "src/report/heatmap.hpp"
#include "tests/report/samples.hpp"

namespace headtorch::report {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::StartsWith;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

std::size_t header_size(const std::string& npy_bytes) {
  return 10U + static_cast<unsigned char>(npy_bytes.at(8)) +
         256U * static_cast<unsigned char>(npy_bytes.at(9));
}

/// RFC 4180, written from the standard and not from our writer.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1);
  std::string field;
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_quotes) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        in_quotes = false;
      }
    } else if (text[i] == '"') {
      in_quotes = true;
    } else if (text[i] == ',' || text[i] == '\n') {
      records.back().push_back(field);
      field.clear();
      if (text[i] == '\n' && i + 1 < text.size()) {
        records.emplace_back();
      }
    } else {
      field += text[i];
    }
  }
  return records;
}

TEST(Npy, G19_bytes_of_a_transposed_array) {
  // What the caller's contiguous copy of arange(6).reshape(2, 3).T holds.
  const float values[] = {0, 3, 1, 4, 2, 5};
  const std::int64_t shape[] = {3, 2};
  const std::string bytes = npy(values, shape);
  EXPECT_THAT(bytes, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  EXPECT_THAT(bytes, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"));
  EXPECT_EQ(header_size(bytes) % 64, 0U);
  EXPECT_EQ(bytes[header_size(bytes) - 1], '\n');
  EXPECT_EQ(hex(bytes.substr(header_size(bytes))),
            "00000000"
            "00004040"
            "0000803f"
            "00008040"
            "00000040"
            "0000a040");
}

TEST(Npy, headers_of_every_length_are_padded) {
  const std::vector<float> one(1, 0.5F);
  for (std::size_t rank = 0; rank < 64; ++rank) {
    const std::string bytes = npy(one, std::vector<std::int64_t>(rank, 1));
    EXPECT_EQ(header_size(bytes) % 64, 0U) << rank;
    EXPECT_EQ(bytes.size(), header_size(bytes) + 4) << rank;
  }
  const std::int64_t shape[] = {1};
  EXPECT_THAT(npy(one, shape), HasSubstr("'shape': (1,), "));
}

TEST(Npy, G17_layer_of_500_tokens) {
  const LayerWeights layer{1, 2, 500, 500, std::vector<float>(500'000, 0.002F)};
  const std::string bytes = npy(layer);
  EXPECT_THAT(bytes, HasSubstr("'shape': (1, 2, 500, 500), "));
  EXPECT_EQ(bytes.size() - header_size(bytes), 2'000'000U);
}

TEST(Npy, shapes_that_do_not_fit_are_refused) {
  const std::vector<float> six(6), none;
  const auto write = [](const std::vector<float>& values, const std::vector<std::int64_t>& shape) {
    return npy(values, shape);
  };
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {5}, {2, 2}, {2, 3, 2}, {-2, -3}, {6, 0}, {}, {std::int64_t{1} << 33, std::int64_t{1} << 33}}) {
    EXPECT_THROW(write(six, shape), ShapeError);
  }
  EXPECT_NO_THROW(write(none, {0, 3}));
  EXPECT_THROW(write(none, {1}), ShapeError);
}

TEST(Csv, G13_header_is_keys_and_lines_are_queries) {
  EXPECT_EQ(csv(g13_maps(), {}),
            "query,A,B,C\n"
            "A,1,0,0\n"
            "B,0.25,0.75,0\n"
            "C,0.2,0.3,0.5\n");
}

TEST(Csv, G15_tokens_come_back_as_they_were) {
  const auto tokens = hostile_tokens();
  const auto n = static_cast<std::int64_t>(tokens.size());
  const auto records =
      parse_csv(csv(maps_of(1, n, n, std::vector<float>(tokens.size() * tokens.size()), tokens), {}));
  ASSERT_EQ(records.size(), tokens.size() + 1);
  std::vector<std::string> header = tokens;
  header.insert(header.begin(), "query");
  EXPECT_THAT(records[0], ElementsAreArray(header));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(records[i + 1].size(), tokens.size() + 1);
    EXPECT_EQ(records[i + 1][0], tokens[i]);
  }
}

TEST(Csv, G09_every_head_can_be_written) {
  EXPECT_EQ(csv(shifted_maps(4, 4), {.head = 3}),
            "query,t0,t1,t2,t3\n"
            "t0,0,0,0,1\n"
            "t1,1,0,0,0\n"
            "t2,0,1,0,0\n"
            "t3,0,0,1,0\n");
}

TEST(Csv, numbers_read_back_as_the_same_float) {
  const std::vector<float> values{0.1F, 1.0F / 3.0F, std::numeric_limits<float>::denorm_min(), 1e-20F};
  const auto records = parse_csv(csv(maps_of(1, 2, 2, values), {}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::strtof(records[1 + i / 2][1 + i % 2].c_str(), nullptr), values[i]);
  }
}

TEST(Json, G13_weights_are_query_then_key) {
  const auto document = nlohmann::json::parse(json(g13_maps(), {}));
  const auto& layer = document.at("layers").at(0);
  EXPECT_EQ(layer.at("heads").at(0).at("weights").at(2).at(0), 0.2);
  EXPECT_EQ(layer.at("heads").at(0).at("weights").at(0).at(2), 0.0);
  EXPECT_EQ(layer.at("query_tokens"), (nlohmann::json{"A", "B", "C"}));
  EXPECT_EQ(document.at("task"), "copy");
  EXPECT_EQ(document.at("step"), 600);
}

TEST(Json, G09_heads_are_apart) {
  const auto document = nlohmann::json::parse(json(shifted_maps(4, 4), {}));
  const auto& heads = document.at("layers").at(0).at("heads");
  ASSERT_EQ(heads.size(), 4U);
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_EQ(heads[h].at("head"), h);
    EXPECT_EQ(heads[h].at("entropy"), 0.0);
    EXPECT_EQ(heads[h].at("weights").at(1).at((1 + h) % 4), 1.0);
  }
  const auto one = nlohmann::json::parse(json(shifted_maps(4, 4), {.head = 2}));
  ASSERT_EQ(one.at("layers").at(0).at("heads").size(), 1U);
  EXPECT_EQ(one.at("layers").at(0).at("heads").at(0).at("head"), 2);
}

TEST(Json, G15_tokens_come_back_as_they_were) {
  const auto tokens = hostile_tokens();
  const auto n = static_cast<std::int64_t>(tokens.size());
  const auto maps = maps_of(1, n, n, std::vector<float>(tokens.size() * tokens.size()), tokens);
  const auto document = nlohmann::json::parse(json(maps, {}));
  EXPECT_EQ(document.at("layers").at(0).at("key_tokens"), nlohmann::json(tokens));
}

TEST(Json, G16_numbers_that_are_not_finite_are_null) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  AttentionMaps maps = maps_of(1, 2, 2, {std::nanf(""), kInfinity, -kInfinity, 0.5F}, {"a", "\xff"});
  const std::string text = json(maps, {});
  EXPECT_THAT(text, HasSubstr("[[null,null],[null,0.5]]"));
  const auto document = nlohmann::json::parse(text);
  EXPECT_TRUE(document.at("layers").at(0).at("heads").at(0).at("entropy").is_null());
  EXPECT_EQ(document.at("layers").at(0).at("key_tokens").at(1), "\ufffd");
  EXPECT_TRUE(finite_or_null(kInfinity).is_null());
  EXPECT_EQ(finite_or_null(0.25), 0.25);
}

struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Arrays, G16_numbers_have_a_point_in_every_locale) {
  const AttentionMaps maps = g13_maps();
  const std::string csv_before = csv(maps, {}), json_before = json(maps, {});
  const std::string svg_before = draw_heatmap(maps, {.format = Format::kSvg});
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
  const std::string c_before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(csv(maps, {}), csv_before);
  EXPECT_EQ(json(maps, {}), json_before);
  EXPECT_EQ(draw_heatmap(maps, {.format = Format::kSvg}), svg_before);
  std::setlocale(LC_ALL, c_before.c_str());
  std::locale::global(before);
}

TEST(Arrays, what_is_not_there_is_refused) {
  EXPECT_THROW(csv(g13_maps(), {.head = 1}), ConfigError);
  EXPECT_THROW(json(g13_maps(), {.layers = {4}}), ConfigError);
  EXPECT_THROW(json(g13_maps(), {.head = -1}), ConfigError);
  EXPECT_THROW(json(g13_maps(), {.sample = 1}), ConfigError);
}

}  // namespace
}  // namespace headtorch::report
