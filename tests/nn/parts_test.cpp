#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"
#include "src/nn/dropout.hpp"
#include "src/nn/initialisation.hpp"
#include "src/nn/linear.hpp"
#include "src/nn/multi_head_attention.hpp"
#include "src/nn/positional_encoding.hpp"
#include "tests/support/modules.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::doubles;
using test::identical;
using test::normal;
using torch::Tensor;

// ---- positions

TEST(SinusoidalPositions, G11_odd_widths_and_exponents) {
  const auto row = [](std::int64_t d, std::int64_t p) {
    return sinusoidal_positions(p, 1, d, torch::kFloat64)[0];
  };
  EXPECT_TRUE(close(row(5, 0), doubles({0, 1, 0, 1, 0}, {5})));
  // The case gives seven digits.
  EXPECT_TRUE(close(row(5, 1), doubles({.8414710, .5403023, .0251162, .9996845, .0006310}, {5}), 1e-7));
  EXPECT_TRUE(close(row(4, 1), doubles({.8414710, .5403023, .0099998, .9999500}, {4}), 1e-7));
  EXPECT_TRUE(close(row(7, 3),
                    doubles({.1411200, -.9899925, .2142322, .9767828, .0155378, .9998793, .0011183}, {7}),
                    1e-7));
  EXPECT_TRUE(close(row(1, 2), doubles({std::sin(2.0)}, {1})));
}

TEST(SinusoidalPositions, reference_values) {
  const auto g = test::golden("attention.json")["sinusoidal"];
  const Tensor d8 = sinusoidal_positions(0, 12, 8, torch::kFloat64);
  EXPECT_TRUE(close(d8, test::tensor(g["d8"])));
  EXPECT_TRUE(close(sinusoidal_positions(0, 12, 7, torch::kFloat64), test::tensor(g["d7"])));
  EXPECT_TRUE(close(sinusoidal_positions(1000, 1, 8, torch::kFloat64)[0], test::tensor(g["p1000_d8"])));
  EXPECT_TRUE(close(sinusoidal_positions(0, 1001, 8, torch::kFloat32)[1000],
                    test::tensor(g["p1000_d8"], torch::kFloat32)));
  EXPECT_TRUE(identical(sinusoidal_positions(5, 7, 8, torch::kFloat64), d8.narrow(0, 5, 7)));
  const Tensor by_distance = test::tensor(g["d8_dot_by_distance"]), products = torch::matmul(d8, d8.t());
  for (std::int64_t p = 0; p < 12; ++p) {
    EXPECT_TRUE(close(products[p].narrow(0, p, 12 - p), by_distance.narrow(0, 0, 12 - p)));
  }
}

PositionalEncoding encoding(Position position, double embedding_sd = 1.0, bool norm = false,
                            std::int64_t d_model = 5) {
  torch::manual_seed(1);
  PositionalEncoding module(PositionalEncodingOptions{position, d_model, 16, embedding_sd, norm});
  module->to(torch::kFloat64);
  return module;
}

TEST(PositionalEncoding, adds_nothing_a_code_or_a_table) {
  const Tensor x = normal({2, 4, 5}, 3);
  EXPECT_TRUE(identical(encoding(Position::kNone)->forward(x), x));
  const Tensor code = sinusoidal_positions(3, 4, 5, torch::kFloat64);
  EXPECT_TRUE(close(encoding(Position::kSinusoidal, std::sqrt(0.5))->forward(x, 3), x + code));
  PositionalEncoding learned = encoding(Position::kLearned);
  const Tensor table = learned->named_parameters()["table"];
  ASSERT_THAT(table.sizes(), testing::ElementsAre(16, 5));
  EXPECT_TRUE(identical(learned->forward(x, 3), x + table.narrow(0, 3, 4)));
}

TEST(PositionalEncoding, the_code_has_the_size_of_what_it_is_added_to) {
  for (const Position position : {Position::kSinusoidal, Position::kLearned}) {
    for (const double sd : {0.02, 1.0, 3.0}) {
      const Tensor code =
          encoding(position, sd, false, 400)->forward(torch::zeros({1, 16, 400}, torch::kFloat64));
      // 6,400 normal numbers: their root mean square is off by 1 in 113 (one standard deviation).
      EXPECT_NEAR(code.square().mean().sqrt().item<double>() / sd, 1.0,
                  position == Position::kLearned ? 0.04 : 1e-12);
    }
  }
}

TEST(PositionalEncoding, a_last_norm_centres_and_scales_the_sum) {
  const Tensor y = encoding(Position::kSinusoidal, 1.0, true)->forward(normal({2, 4, 5}, 3) * 9);
  EXPECT_TRUE(close(y.mean(-1), torch::zeros({2, 4}, torch::kFloat64)));
  EXPECT_TRUE(
      close(y.square().mean(-1), torch::ones({2, 4}, torch::kFloat64), 1e-4));  // the norm's eps is 1e-5
}

TEST(PositionalEncoding, G12_an_input_past_the_table_is_refused_naming_both) {
  PositionalEncoding learned = encoding(Position::kLearned);
  const auto with = [&](std::int64_t length, std::int64_t first) {
    return learned->forward(torch::zeros({1, length, 5}, torch::kFloat64), first);
  };
  EXPECT_THAT([&] { with(20, 0); }, testing::ThrowsMessage<ShapeError>(
                                        testing::AllOf(testing::HasSubstr("20"), testing::HasSubstr("16"))));
  EXPECT_THROW(with(1, 16), ShapeError);
  EXPECT_THROW(with(1, -1), ShapeError);
  EXPECT_EQ(with(16, 0).size(1), 16);
  EXPECT_EQ(with(1, 15).size(1), 1);
  EXPECT_EQ(with(1, 0).size(1), 1);
  const Tensor longer = encoding(Position::kSinusoidal)->forward(torch::zeros({1, 40, 5}, torch::kFloat64));
  EXPECT_EQ(longer.size(1), 40);
  EXPECT_THROW(learned->forward(torch::zeros({1, 4, 6}, torch::kFloat64)), ShapeError);
}

// ---- initialisation

TEST(Initialisation, has_the_published_spread) {
  // 60,000 numbers: a standard deviation is off by 0.3 % (one standard deviation), so 1.5 % is five of them.
  const auto sd_of = [](Init init, double gain) {
    torch::manual_seed(5);
    const Tensor weight = torch::empty({200, 300}, torch::kFloat64);
    initialise(weight, init, gain);
    EXPECT_NEAR(weight.mean().item<double>(), 0.0, 5 * weight.std().item<double>() / std::sqrt(60000.0));
    return weight.std().item<double>();
  };
  for (const double gain : {1.0, 3.0}) {
    EXPECT_NEAR(sd_of(Init::kXavier, gain) / (gain * std::sqrt(2.0 / 500)), 1.0, 0.015);
    EXPECT_NEAR(sd_of(Init::kHe, gain) / (gain * std::sqrt(2.0 / 300)), 1.0, 0.015);
    EXPECT_NEAR(sd_of(Init::kNormal, gain) / (gain * 0.02), 1.0, 0.015);
  }
  const Tensor weight = torch::empty({200, 300}, torch::kFloat64);
  initialise(weight, Init::kXavier);
  EXPECT_LE(weight.abs().max().item<double>(), std::sqrt(6.0 / 500));
}

TEST(Initialisation, the_embedding_is_as_large_as_a_sinusoid) {
  const Tensor code = sinusoidal_positions(0, 300, 64, torch::kFloat64);
  EXPECT_NEAR(embedding_sd(Init::kXavier), code.square().mean().sqrt().item<double>(), 1e-12);
  EXPECT_EQ(embedding_sd(Init::kHe), embedding_sd(Init::kXavier));
  EXPECT_EQ(embedding_sd(Init::kNormal), 0.02);
}

TEST(Initialisation, the_gain_scales_queries_and_keys_alone) {
  const auto weights = [](double gain) {
    torch::manual_seed(6);
    MultiHeadAttentionOptions options;
    options.d_model = 8;
    options.n_heads = 2;
    options.qk_gain = gain;
    return MultiHeadAttention(options)->named_parameters()["in_proj_weight"];
  };
  const Tensor one = weights(1.0), two = weights(2.0);
  EXPECT_TRUE(identical(two.narrow(0, 0, 16), 2 * one.narrow(0, 0, 16)));
  EXPECT_TRUE(identical(two.narrow(0, 16, 8), one.narrow(0, 16, 8)));
}

TEST(Initialisation, biases_are_zero_and_seeds_decide) {
  const auto linear = [](std::uint64_t seed) {
    torch::manual_seed(seed);
    return make_linear(4, 3, Init::kXavier);
  };
  EXPECT_TRUE(identical(linear(1)->bias, torch::zeros({3})));
  EXPECT_TRUE(identical(linear(1)->weight, linear(1)->weight));
  EXPECT_FALSE(torch::equal(linear(1)->weight, linear(2)->weight));
  EXPECT_FALSE(make_linear(4, 3, Init::kXavier, false)->bias.defined());
}

// ---- dropout

TEST(Dropout, scales_what_it_keeps_and_rests_in_evaluation) {
  const Tensor x = torch::ones({100, 100}, torch::kFloat64);
  DropoutStream stream(1, 1);
  for (DropoutStream* source : {&stream, static_cast<DropoutStream*>(nullptr)}) {
    const Tensor y = dropout(x, 0.2, true, source);
    EXPECT_TRUE(((y == 0) | ((y - 1.25).abs() < 1e-4)).all().item<bool>());  // p is rounded to 1/65536
    EXPECT_NEAR((y == 0).to(torch::kFloat64).mean().item<double>(), 0.2,
                0.02);  // five standard deviations of 10,000
    EXPECT_TRUE(identical(dropout(x, 0.2, false, source), x));
    EXPECT_TRUE(identical(dropout(x, 0.0, true, source), x));
    EXPECT_NEAR(kept(x, 0.2, source).to(torch::kFloat64).mean().item<double>(), 0.8, 0.02);
  }
}

TEST(DropoutStream, is_a_function_of_seed_step_place_and_element) {
  const Tensor like = torch::empty({6, 50});
  const auto first = [&](std::uint64_t seed, std::int64_t step) {
    return DropoutStream(seed, step).mask(like, 0.5);
  };
  const Tensor mask = first(1, 1);
  EXPECT_TRUE(identical(first(1, 1), mask));
  EXPECT_FALSE(torch::equal(first(2, 1), mask));
  EXPECT_FALSE(torch::equal(first(1, 2), mask));
  DropoutStream stream(1, 1);
  stream.mask(like, 0.5);
  const Tensor next_place = stream.mask(like, 0.5);
  EXPECT_FALSE(torch::equal(next_place, mask));
  for (const std::int64_t from : {1, 2, 5}) {
    DropoutStream slice(1, 1, from);
    EXPECT_TRUE(identical(slice.mask(like.narrow(0, from, 6 - from), 0.5), mask.narrow(0, from, 6 - from)));
  }
}

TEST(DropoutStream, makes_masks_in_the_dtype_asked_for) {
  DropoutStream stream(1, 1);
  EXPECT_EQ(stream.mask(torch::empty({2, 3}, torch::kFloat64), 0.5).scalar_type(), torch::kFloat64);
  EXPECT_EQ(stream.mask(torch::empty({2, 3}, torch::kBFloat16), 0.5).scalar_type(), torch::kBFloat16);
  EXPECT_EQ(stream.mask(torch::empty({0, 3}), 0.5).numel(), 0);
}

}  // namespace
}  // namespace headtorch::nn
