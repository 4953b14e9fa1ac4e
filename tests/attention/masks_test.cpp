#include "src/attention/masks.hpp"

#include <gmock/gmock.h>

#include "src/attention/attend.hpp"
#include "src/core/error.hpp"
#include "tests/support/attention_inputs.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::identical;
using torch::Tensor;

Tensor rows(const Mask& mask, std::int64_t queries, std::int64_t keys) {
  const Tensor visible = resolve(mask, queries, keys, torch::kCPU);
  return visible.defined() ? visible.expand({queries, keys}) : torch::ones({queries, keys}, torch::kBool);
}

TEST(Windows, reference_masks_and_outputs) {
  const auto g = test::golden("attention.json")["local_window"];
  const auto batch = [&](const char* name) { return test::tensor(g[name]).view({1, 1, 7, -1}); };
  const test::Inputs in{batch("q"), batch("k"), batch("v")};
  for (const auto& row : g["rows"]) {
    const Mask mask{
        row["causal"].get<bool>() ? Visibility::kCausal : Visibility::kAll, {}, row["w"].get<std::int64_t>()};
    EXPECT_TRUE(identical(rows(mask, 7, 7), test::tensor(row["mask"], torch::kBool)));
    const Tensor want = test::tensor(row["out"]).view({1, 1, 7, 3});
    EXPECT_TRUE(close(
        attend_explicit(scaled_dot_scores(in.q, in.k, 0.5), in.v, resolve(mask, 7, 7, torch::kCPU)).y, want));
    EXPECT_TRUE(close(attend_fused(in.q, in.k, in.v, mask, 0.5), want));
  }
}

TEST(Windows, are_combined_with_the_other_conditions_as_booleans) {
  for (const test::Sizes& s : test::kSizes) {
    torch::manual_seed(5);
    const Tensor visible = torch::rand({s.batch, 1, s.queries, s.keys}) < 0.7;
    for (std::int64_t window : {0, 1, 3, 100}) {
      const Tensor near =
          (torch::arange(s.keys) - torch::arange(s.keys - s.queries, s.keys).unsqueeze(-1)).abs() <= window;
      EXPECT_TRUE(identical(rows({Visibility::kAll, {}, window}, s.queries, s.keys), near));
      EXPECT_TRUE(identical(rows({Visibility::kCausal, {}, window}, s.queries, s.keys),
                            near & causal_mask(s.queries, s.keys)));
      EXPECT_TRUE(identical(resolve({Visibility::kCausal, visible, window}, s.queries, s.keys, torch::kCPU),
                            near & causal_mask(s.queries, s.keys) & visible));
    }
  }
}

TEST(Windows, one_that_hides_nothing_needs_no_mask) {
  EXPECT_FALSE(resolve({Visibility::kAll, {}, 4}, 5, 5, torch::kCPU).defined());
  EXPECT_TRUE(resolve({Visibility::kAll, {}, 3}, 5, 5, torch::kCPU).defined());
  EXPECT_FALSE(resolve({Visibility::kCausal, {}, 6}, 1, 7, torch::kCPU).defined());
}

TEST(Windows, below_zero_are_refused) {
  EXPECT_THROW(resolve({Visibility::kAll, {}, -1}, 4, 4, torch::kCPU), ConfigError);
  EXPECT_THROW(resolve({Visibility::kAll, {}, -1}, whole(1, 1), torch::kCPU), ConfigError);
}

TEST(Pieces, G02_a_piece_is_cut_from_the_whole) {
  for (const test::Sizes& s : test::kSizes) {
    for (const auto& [name, mask] : test::masks(s)) {
      SCOPED_TRACE(testing::Message() << name << ", T " << s.queries << ", S " << s.keys);
      const Tensor all = rows({mask.visibility, {}, mask.window}, s.queries, s.keys);
      const Tensor whole_mask = combine(all, mask.visible).expand({s.batch, s.heads, s.queries, s.keys});
      for (std::int64_t row = 0; row < s.queries; row += 2) {
        for (std::int64_t key = 0; key < s.keys; key += 3) {
          const std::int64_t queries = std::min<std::int64_t>(2, s.queries - row);
          const std::int64_t keys = std::min<std::int64_t>(3, s.keys - key);
          const Tensor want = whole_mask.narrow(2, row, queries).narrow(3, key, keys);
          const Tensor piece = resolve(mask, {s.keys - s.queries + row, queries, key, keys}, torch::kCPU);
          EXPECT_TRUE(identical(piece.defined() ? piece.expand_as(want) : torch::ones_like(want), want));
        }
      }
    }
  }
}

TEST(Pieces, outside_the_mask_are_refused) {
  const Mask mask{Visibility::kAll, torch::ones({4, 6}, torch::kBool)};
  EXPECT_TRUE(resolve(mask, {2, 4, 0, 6}, torch::kCPU).defined());
  EXPECT_THROW(resolve(mask, {1, 2, 0, 6}, torch::kCPU), ShapeError);
  EXPECT_THROW(resolve(mask, {5, 2, 0, 6}, torch::kCPU), ShapeError);
  EXPECT_THROW(resolve(mask, {2, 2, 4, 3}, torch::kCPU), ShapeError);
  const Mask one_column{Visibility::kAll, torch::ones({4, 1}, torch::kBool)};
  EXPECT_TRUE(resolve(one_column, 4, 6, torch::kCPU).defined());
  EXPECT_THROW(resolve(one_column, {2, 2, 0, 6}, torch::kCPU), ShapeError);
}

}  // namespace
}  // namespace headtorch::attention
