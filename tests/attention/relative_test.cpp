#include "src/attention/relative.hpp"

#include <gmock/gmock.h>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/masks.hpp"
#include "src/core/error.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;
using torch::Tensor;

TEST(Alibi, reference_slopes_and_bias) {
  const auto g = test::golden("attention.json")["alibi"];
  for (const std::int64_t heads : {1, 2, 4, 6, 8, 12, 16}) {
    const auto want = g[std::to_string(heads)].get<std::vector<double>>();
    EXPECT_TRUE(
        close(torch::tensor(alibi_slopes(heads), torch::kFloat64), torch::tensor(want, torch::kFloat64)));
  }
  const Tensor bias = alibi_bias(alibi_slopes(4), whole(5, 5), torch::kFloat64);
  EXPECT_TRUE(close(bias.tril(), test::tensor(g["causal_bias_4_heads_L5"])));
  EXPECT_TRUE(identical(bias, bias.transpose(-2, -1)));
  EXPECT_THROW(alibi_slopes(0), ConfigError);
}

TEST(T5Buckets, are_the_reference_to_the_integer) {
  const auto g = test::golden("attention.json")["t5_buckets"];
  const Piece piece{140, 1, 0, 281};
  for (const auto& [name, buckets] : {std::pair<std::string, T5Buckets>{"bidirectional", {}},
                                      {"unidirectional", {.direction = T5Direction::kPast}},
                                      {"bidirectional_8_to_32", {8, 32, T5Direction::kBoth}},
                                      {"unidirectional_8_to_32", {8, 32, T5Direction::kPast}}}) {
    const auto want = g[name].get<std::vector<std::int64_t>>();
    EXPECT_TRUE(identical(t5_buckets(piece, buckets, torch::kCPU)[0], torch::tensor(want))) << name;
  }
}

TEST(T5Buckets, far_keys_share_the_last_one) {
  const Tensor far = t5_buckets({100000, 1, 0, 200001}, {}, torch::kCPU)[0];
  EXPECT_EQ(far[0].item<std::int64_t>(), 15);
  EXPECT_EQ(far[-1].item<std::int64_t>(), 31);
  EXPECT_EQ(far.max().item<std::int64_t>(), 31);
}

TEST(T5Buckets, that_cannot_be_divided_are_refused) {
  EXPECT_THROW(t5_buckets(whole(2, 2), {3, 128}, torch::kCPU), ConfigError);
  EXPECT_THROW(t5_buckets(whole(2, 2), {32, 8}, torch::kCPU), ConfigError);
  EXPECT_THROW(t5_buckets(whole(2, 2), {1, 128, T5Direction::kPast}, torch::kCPU), ConfigError);
  EXPECT_THROW(t5_buckets(whole(2, 2), {0, 0}, torch::kCPU), ConfigError);
}

TEST(Rope, reference_values) {
  const auto g = test::golden("attention.json")["rope"];
  const Tensor x = test::tensor(g["x"]);
  const auto positions = g["positions"].get<std::vector<double>>();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const auto at = static_cast<std::int64_t>(positions[i]);
    const Tensor one = x[row].view({1, 1, 1, 8});
    EXPECT_TRUE(close(rope(one, at).view({8}), test::tensor(g["interleaved"])[row]));
    EXPECT_TRUE(close(rope(one.narrow(-1, 0, 7), at).view({7}), test::tensor(g["first_7"])[row]));
  }
  const auto& relative = g["relative"];
  const Tensor q = test::tensor(relative["q"]).view({1, 1, 1, 8});
  const Tensor k = test::tensor(relative["k"]).view({1, 1, 1, 8});
  for (const auto& row : relative["rows"]) {
    const Tensor dot = (rope(q, row["m"].get<std::int64_t>()) * rope(k, row["n"].get<std::int64_t>())).sum();
    EXPECT_NEAR(dot.item<double>(), row["dot"].get<double>(), 1e-12);
  }
}

TEST(Rope, turns_without_stretching_and_position_0_stays) {
  for (const std::int64_t features : {1, 2, 5, 8}) {
    const Tensor x = normal({2, 3, 6, features}, 1);
    const Tensor turned = rope(x, 0);
    EXPECT_TRUE(close(turned.norm(2, -1), x.norm(2, -1)));
    EXPECT_TRUE(identical(turned.select(2, 0), x.select(2, 0)));
    if (features % 2 == 1) {
      EXPECT_TRUE(identical(turned.select(-1, features - 1), x.select(-1, features - 1)));
    }
    const auto f = [](const Tensor& t) { return (rope(t, 3, 100.0) * normal(t.sizes(), 2)).sum(); };
    EXPECT_TRUE(
        close(test::analytic_gradient(f, x), test::numeric_gradient(f, x), test::kNumericGradientTolerance));
  }
}

TEST(Rope, a_cache_goes_on_where_it_stopped) {
  const Tensor x = normal({2, 2, 9, 6}, 1);
  EXPECT_TRUE(identical(torch::cat({rope(x.narrow(2, 0, 4), 0), rope(x.narrow(2, 4, 5), 4)}, 2), rope(x, 0)));
}

TEST(Rope, keeps_its_precision_at_far_positions) {
  const Tensor x = normal({1, 1, 4, 8}, 1);
  EXPECT_TRUE(close(rope(x.to(torch::kFloat32), 1'000'000), rope(x, 1'000'000).to(torch::kFloat32)));
}

TEST(Rope, what_cannot_be_turned_is_refused) {
  EXPECT_THROW(rope(normal({2, 3, 4}, 1), 0), ShapeError);
  EXPECT_THROW(rope(normal({1, 1, 2, 4}, 1), 0, 0.0), ConfigError);
}

TEST(WindowBias, is_the_gaussian_kernel_around_the_offset) {
  const Tensor offset = doubles({-2.0, 0.5}, {2, 1, 1}), log_h = doubles({0.0, 1.2}, {2, 1, 1});
  const PositionalKernel kernel{KernelShape::kGaussian, {1.0, std::exp(1.2)}, {1.0}, {-2.0, 0.5}};
  for (const auto& [queries, keys] : {std::pair{5, 5}, {1, 1}, {2, 7}}) {
    EXPECT_TRUE(close(window_bias(offset, log_h, whole(queries, keys)),
                      positional_log_kernel(kernel, 2, whole(queries, keys), torch::kFloat64)));
  }
}

TEST(WindowBias, may_depend_on_the_query_and_has_the_numeric_gradient) {
  const Tensor offset = normal({2, 3, 4, 1}, 1), log_h = normal({2, 3, 4, 1}, 2) * 0.5;
  const Piece piece = whole(4, 6);
  const Tensor bias = window_bias(offset, log_h, piece);
  ASSERT_THAT(bias.sizes(), testing::ElementsAre(2, 3, 4, 6));
  const double h = std::exp(log_h[1][2][3][0].item<double>());
  const double away = 4.0 - 5.0 - offset[1][2][3][0].item<double>();  // query 3 stands at position 5
  EXPECT_NEAR(bias[1][2][3][4].item<double>(), -away * away / (2 * h * h), 1e-12);
  const Tensor grad = normal(bias.sizes(), 3);
  const auto of_offset = [&](const Tensor& o) { return (window_bias(o, log_h, piece) * grad).sum(); };
  const auto of_log_h = [&](const Tensor& l) { return (window_bias(offset, l, piece) * grad).sum(); };
  EXPECT_TRUE(close(test::analytic_gradient(of_offset, offset), test::numeric_gradient(of_offset, offset),
                    test::kNumericGradientTolerance));
  EXPECT_TRUE(close(test::analytic_gradient(of_log_h, log_h), test::numeric_gradient(of_log_h, log_h),
                    test::kNumericGradientTolerance));
}

TEST(WindowBias, stays_finite_at_any_bandwidth) {
  const Tensor zero = torch::zeros({1, 1, 1});
  for (const double log_h : {-1e4, -100.0, 100.0, 1e4}) {
    EXPECT_TRUE(test::all_finite(window_bias(zero, torch::full({1, 1, 1}, log_h), whole(4, 4)))) << log_h;
  }
}

TEST(WindowBias, shapes_that_do_not_fit_are_refused) {
  const Tensor fits = torch::zeros({2, 1, 1});
  EXPECT_THROW(window_bias(torch::zeros({2, 3, 1}), fits, whole(4, 4)), ShapeError);
  EXPECT_THROW(window_bias(fits, torch::zeros({2, 1, 4}), whole(4, 4)), ShapeError);
  EXPECT_THROW(window_bias(torch::zeros({1}), fits, whole(4, 4)), ShapeError);
}

TEST(RelativePositions, of_a_piece_are_those_of_the_whole) {
  for (const auto& dtype : {torch::kLong, torch::kFloat32, torch::kBFloat16}) {
    const Tensor all = relative_positions(whole(5, 9), dtype);
    EXPECT_TRUE(identical(relative_positions({6, 2, 3, 4}, dtype), all.narrow(0, 2, 2).narrow(1, 3, 4)));
  }
  EXPECT_EQ(relative_positions({1001, 1, 1000, 1}, torch::kBFloat16).item<double>(), -1.0);
}

}  // namespace
}  // namespace headtorch::attention
