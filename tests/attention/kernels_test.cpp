#include <gmock/gmock.h>

#include <cmath>

#include "src/attention/fixed_kernels.hpp"
#include "src/attention/masks.hpp"
#include "src/attention/scores.hpp"
#include "src/attention/softmax.hpp"
#include "src/core/error.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;
using torch::Tensor;

Tensor weights(const PositionalKernel& kernel, std::int64_t queries, std::int64_t keys,
               std::int64_t n_heads = 1) {
  return masked_softmax(positional_log_kernel(kernel, n_heads, whole(queries, keys), torch::kFloat64), {});
}

// K((j - slope i - offset) / h) divided by its row's sum, written out.
Tensor by_hand(const PositionalKernel& kernel, std::size_t head, std::int64_t size) {
  const double h = kernel.bandwidth[head], slope = kernel.slope[head], offset = kernel.offset[head];
  std::vector<double> rows;
  for (std::int64_t i = 0; i < size; ++i) {
    std::vector<double> row;
    double sum = 0.0;
    for (std::int64_t j = 0; j < size; ++j) {
      const double u = (static_cast<double>(j) - slope * static_cast<double>(i) - offset) / h;
      row.push_back(kernel.shape == KernelShape::kGaussian ? std::exp(-0.5 * u * u) : std::exp(-std::abs(u)));
      sum += row.back();
    }
    for (const double k : row) rows.push_back(k / sum);
  }
  return doubles(rows, {size, size});
}

TEST(PositionalKernel, weights_are_the_formula_for_each_head) {
  for (const KernelShape shape : {KernelShape::kGaussian, KernelShape::kExponential}) {
    const PositionalKernel kernel{shape, {1.5, 0.8, 3.0}, {1.0, -1.0, 0.0}, {-2.0, 6.0, 2.5}};
    const Tensor w = weights(kernel, 7, 7, 3);
    ASSERT_THAT(w.sizes(), testing::ElementsAre(3, 7, 7));
    for (std::size_t head = 0; head < 3; ++head) {
      EXPECT_TRUE(close(w[static_cast<std::int64_t>(head)], by_hand(kernel, head, 7)));
    }
  }
}

TEST(PositionalKernel, a_narrow_one_points_where_its_slope_and_offset_say) {
  const auto points_to = [](double slope, double offset) {
    return weights({KernelShape::kGaussian, {0.1}, {slope}, {offset}}, 5, 5)[0].argmax(-1);
  };
  EXPECT_TRUE(identical(points_to(1, 0), torch::tensor({0, 1, 2, 3, 4})));
  EXPECT_TRUE(identical(points_to(1, -1), torch::tensor({0, 0, 1, 2, 3})));
  EXPECT_TRUE(identical(points_to(-1, 4), torch::tensor({4, 3, 2, 1, 0})));
  EXPECT_TRUE(identical(points_to(0, 3), torch::tensor({3, 3, 3, 3, 3})));
}

TEST(PositionalKernel, a_wide_one_is_uniform_and_a_narrow_one_far_away_stays_finite) {
  EXPECT_TRUE(close(weights({KernelShape::kGaussian, {1e8}}, 6, 6)[0],
                    torch::full({6, 6}, 1.0 / 6, torch::kFloat64)));
  const Tensor far = weights({KernelShape::kGaussian, {0.01}, {1.0}, {-40.0}}, 6, 6)[0];
  EXPECT_TRUE(test::all_finite(far));
  EXPECT_TRUE(close(far.sum(-1), torch::ones({6}, torch::kFloat64)));
  EXPECT_TRUE(identical(far.argmax(-1), torch::zeros({6}, torch::kLong)));
}

TEST(PositionalKernel, queries_are_the_last_of_the_positions) {
  const PositionalKernel kernel{KernelShape::kExponential, {1.3}, {1.0}, {-1.0}};
  EXPECT_TRUE(identical(weights(kernel, 2, 6)[0], weights(kernel, 6, 6)[0].narrow(0, 4, 2)));
}

TEST(PositionalKernel, lists_hold_one_value_or_one_a_head) {
  EXPECT_THROW(weights({KernelShape::kGaussian, {1.0, 2.0}}, 4, 4, 3), ConfigError);
  EXPECT_THROW(weights({KernelShape::kGaussian, {1.0}, {1.0, 1.0}}, 4, 4, 3), ConfigError);
  EXPECT_THROW(weights({KernelShape::kGaussian, {1.0}, {1.0}, {}}, 4, 4, 3), ConfigError);
  EXPECT_THROW(gaussian_scores(normal({1, 3, 4, 2}, 1), normal({1, 3, 4, 2}, 2), {1.0, 2.0}), ConfigError);
}

TEST(TokenKernels, same_token_and_self) {
  const Tensor same = same_token_mask(torch::tensor({{5, 3, 5}, {1, 1, 2}}), whole(3, 3));
  ASSERT_THAT(same.sizes(), testing::ElementsAre(2, 1, 3, 3));
  EXPECT_TRUE(
      identical(same[0][0], torch::tensor({{true, false, true}, {false, true, false}, {true, false, true}})));
  EXPECT_TRUE(
      identical(same[1][0], torch::tensor({{true, true, false}, {true, true, false}, {false, false, true}})));
  EXPECT_TRUE(identical(self_mask(whole(4, 4)), torch::eye(4).to(torch::kBool)));
  EXPECT_TRUE(identical(self_mask(whole(2, 4)), torch::eye(4).to(torch::kBool).narrow(0, 2, 2)));
}

TEST(GaussianScores, reference_values_in_one_and_more_dimensions) {
  const auto g = test::golden("attention.json")["gaussian_kernel_attention"];
  const auto& one = g["one_d"];
  const Tensor keys = test::tensor(one["keys"]).view({1, 1, -1, 1}), values = test::tensor(one["values"]);
  const Tensor queries = test::tensor(one["queries"]).view({1, 1, -1, 1});
  for (const auto& row : one["rows"]) {
    const Tensor w = masked_softmax(gaussian_scores(queries, keys, {row["h"].get<double>()}), {})[0][0];
    EXPECT_TRUE(close(w, test::tensor(row["weights"]))) << "h " << row["h"];
    EXPECT_TRUE(close(torch::matmul(w, values), test::tensor(row["out"]))) << "h " << row["h"];
  }
  const auto& many = g["multi_d"];
  const auto bandwidth = many["h_per_head"].get<std::vector<double>>();
  const Tensor q = test::tensor(many["q"]).unsqueeze(0), k = test::tensor(many["k"]).unsqueeze(0);
  const Tensor w = masked_softmax(gaussian_scores(q, k, bandwidth), {});
  EXPECT_TRUE(close(w[0], test::tensor(many["weights"])));
  EXPECT_TRUE(close(torch::matmul(w[0], test::tensor(many["v"])), test::tensor(many["out"])));
}

TEST(GaussianScores, keys_of_equal_length_make_it_dot_product_attention) {
  const Tensor q = normal({2, 2, 5, 8}, 1);
  const Tensor k = torch::nn::functional::normalize(normal({2, 2, 5, 8}, 2),
                                                    torch::nn::functional::NormalizeFuncOptions().dim(-1));
  const double h = std::pow(8.0, 0.25);  // h^2 = sqrt(d)
  EXPECT_TRUE(close(masked_softmax(gaussian_scores(q, k, {h}), {}),
                    masked_softmax(scaled_dot_scores(q, k, 1.0 / std::sqrt(8.0)), {})));
}

TEST(GaussianScores, only_differences_count) {
  const Tensor q =
      torch::round(normal({1, 1, 4, 3}, 1) * 8).to(torch::kFloat32) / 8;  // exact in float32, also when moved
  const Tensor k = torch::round(normal({1, 1, 5, 3}, 2) * 8).to(torch::kFloat32) / 8;
  EXPECT_TRUE(close(gaussian_scores(q + 1000, k + 1000, {0.7}), gaussian_scores(q, k, {0.7})));
}

// ---- kernels in place of heads

HeadKernel random_kernel(KernelFamily family, std::int64_t keys) {
  const auto uniform = [](double low, double high) {
    return low + (high - low) * torch::rand({}, torch::kFloat64).item<double>();
  };
  HeadKernel kernel{.family = family};
  kernel.key = torch::randint(keys + 2, {}).item<std::int64_t>();  // also one that is not there
  kernel.slope = torch::randint(-1, 2, {}).item<double>();
  kernel.offset = uniform(-3.0, static_cast<double>(keys) + 2.0);
  kernel.bandwidth = std::exp(uniform(-4.0, 2.0));
  kernel.eps = torch::randint(3, {}).item<double>() * 0.25;
  return kernel;
}

constexpr KernelFamily kFamilies[] = {KernelFamily::kUniform,        KernelFamily::kKey,
                                      KernelFamily::kGaussian,       KernelFamily::kSameToken,
                                      KernelFamily::kFirstSameToken, KernelFamily::kLastSameToken,
                                      KernelFamily::kInduction};

TEST(HeadKernelWeights, are_the_rows_of_kernel_row_for_any_shape_and_mask) {
  torch::manual_seed(11);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t batch = 1 + round % 3, keys = 1 + torch::randint(9, {}).item<std::int64_t>();
    const bool causal = round % 2 == 0, padded = round % 4 < 2;
    const Tensor tokens = torch::randint(3, {batch, keys});
    const Tensor lengths = padded ? torch::randint(1, keys + 1, {batch}) : torch::full({batch}, keys);
    Tensor visible = padded ? padding_mask(lengths, keys).select(1, 0) : Tensor();
    if (causal) visible = combine(causal_mask(keys, keys), visible);
    for (const KernelFamily family : kFamilies) {
      const HeadKernel kernel = random_kernel(family, keys);
      const Tensor found = head_kernel_weights(kernel, {visible, tokens, whole(keys, keys)}, torch::kFloat64);
      const Tensor all = found.expand({batch, keys, keys});
      for (std::int64_t b = 0; b < batch; ++b) {
        const std::vector<std::int64_t> ids(tokens[b].const_data_ptr<std::int64_t>(),
                                            tokens[b].const_data_ptr<std::int64_t>() + keys);
        for (std::int64_t query = 0; query < keys; ++query) {
          const auto row = kernel_row(kernel, query, keys, {causal, lengths[b].item<std::int64_t>()}, ids);
          EXPECT_TRUE(close(all[b][query], doubles(row, {keys})))
              << kernel_text(kernel) << " query " << query << " causal " << causal << " padded " << padded;
        }
      }
    }
  }
}

TEST(HeadKernelWeights, stand_still_at_any_bandwidth) {
  for (const double bandwidth : {1e-300, 1e-30, 1e30, 1e300}) {
    const HeadKernel kernel{.family = KernelFamily::kGaussian, .offset = 0.25, .bandwidth = bandwidth};
    const Tensor weights = head_kernel_weights(kernel, {{}, {}, whole(4, 4)}, torch::kFloat64);
    EXPECT_TRUE(close(weights[0], bandwidth < 1.0 ? torch::eye(4, torch::kFloat64)
                                                  : torch::full({4, 4}, 0.25, torch::kFloat64)));
  }
}

TEST(HeadKernelWeights, of_the_last_queries_are_the_last_rows) {
  torch::manual_seed(12);
  const Tensor tokens = torch::randint(3, {2, 6}), causal = causal_mask(6, 6);
  for (const KernelFamily family : kFamilies) {
    const HeadKernel kernel = random_kernel(family, 6);
    const Tensor all = head_kernel_weights(kernel, {causal, tokens, whole(6, 6)}, torch::kFloat64);
    const Tensor last =
        head_kernel_weights(kernel, {causal.narrow(0, 4, 2), tokens, whole(2, 6)}, torch::kFloat64);
    EXPECT_TRUE(identical(last, all.narrow(1, 4, 2))) << family_name(family);
  }
}

TEST(HeadKernelWeights, G01_a_query_that_sees_nothing_gets_zeros) {
  Tensor visible = torch::ones({1, 3, 3}, torch::kBool);
  visible[0][1].fill_(false);
  const Tensor tokens = torch::zeros({1, 3}, torch::kLong);
  for (const KernelFamily family : kFamilies) {
    const Tensor weights =
        head_kernel_weights({.family = family, .eps = 0.1}, {visible, tokens, whole(3, 3)}, torch::kFloat32);
    EXPECT_TRUE((weights[0][1] == 0).all().item<bool>()) << family_name(family);
    EXPECT_TRUE(close(weights[0].sum(-1), torch::tensor({1.0F, 0.0F, 1.0F})));
  }
}

TEST(HeadKernelWeights, what_cannot_be_computed_is_refused) {
  EXPECT_THROW(head_kernel_weights({.family = KernelFamily::kGaussian, .bandwidth = 0.0},
                                   {{}, {}, whole(2, 2)}, torch::kFloat32),
               ConfigError);
  EXPECT_THROW(head_kernel_weights({.eps = 1.5}, {{}, {}, whole(2, 2)}, torch::kFloat32), ConfigError);
  EXPECT_THROW(
      head_kernel_weights({.family = KernelFamily::kSameToken}, {{}, {}, whole(2, 2)}, torch::kFloat32),
      ShapeError);
  EXPECT_THROW(head_kernel_weights({.family = KernelFamily::kInduction},
                                   {{}, torch::zeros({1, 3}, torch::kLong), 2, 2}, torch::kFloat32),
               ShapeError);
}

}  // namespace
}  // namespace headtorch::attention
