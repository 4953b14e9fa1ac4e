// Circuits of models with other parts: RMSNorm, tied embeddings, two stacks.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/untrained.hpp"
#include "train/circuits.hpp"

namespace headtorch::train {
namespace {

using torch::Tensor;

RunConfig one_layer() {
  RunConfig config = small_config("sort", models::Family::kEncoder);
  config.model.n_layers = 1;
  config.model.d_ff = 0;
  config.model.position = nn::Position::kNone;
  return config;
}

/// sum Re / sum abs of the eigenvalues of the whole V x V matrix from token to logit through a head.
/// @param output_CD of the output layer.
double by_whole_matrix(const Untrained& made, std::int64_t head, const Tensor& output_CD) {
  const auto named = [&](const std::string& name) {
    return made.model->named_parameters()[name].detach().to(torch::kDouble);
  };
  const std::int64_t width = made.config.model.d_model, one = width / made.config.model.n_heads;
  const bool centres = made.config.model.norm_kind == nn::NormKind::kLayer;
  const Tensor eye = torch::eye(width, torch::kDouble);
  const Tensor centre = centres ? eye - 1.0 / static_cast<double>(width) : eye;
  const Tensor read =
      centre * named("encoder.layers.0.norm1.weight");  // a row times this is the norm's numerator
  const Tensor last = centre * named("encoder.norm.weight");
  const Tensor values =
      named("encoder.layers.0.attention.in_proj_weight").narrow(0, 2 * width + head * one, one).t();
  const Tensor out = named("encoder.layers.0.attention.out_proj.weight").narrow(1, head * one, one).t();
  const Tensor circuit = named("embedding.weight").mm(read).mm(values).mm(out).mm(last).mm(output_CD.t());
  const Tensor eigenvalues = torch::linalg_eigvals(circuit);
  return torch::real(eigenvalues).sum().item<double>() / eigenvalues.abs().sum().item<double>();
}

TEST(CircuitsOfParts, copying_is_that_of_the_whole_matrix_through_either_norm) {
  for (const nn::NormKind kind : {nn::NormKind::kLayer, nn::NormKind::kRms}) {
    RunConfig config = one_layer();
    config.model.norm_kind = kind;
    Untrained made = untrained(config);
    {
      // Gains start at 1, where a mistake about them would not show.
      const torch::NoGradGuard no_grad;
      for (const std::string name : {"encoder.layers.0.norm1.weight", "encoder.norm.weight"})
        made.model->named_parameters()[name].normal_(1.0, 0.5);
    }
    const probe::Circuits found = read_circuits(config, *made.task, made.bytes());
    const Tensor output = made.model->named_parameters()["output.weight"].detach().to(torch::kDouble);
    ASSERT_EQ(found.copying.size(), 2U);
    for (const std::int64_t head : {0, 1}) {
      // Zero eigenvalues of a V x V matrix of rank 8 come out as roundings.
      EXPECT_NEAR(found.copying[static_cast<std::size_t>(head)], by_whole_matrix(made, head, output), 1e-5);
    }
  }
}

TEST(CircuitsOfParts, a_tied_output_is_the_embedding) {
  RunConfig config = one_layer();
  config.model.output_weight = models::OutputWeight::kEmbedding;
  const Untrained made = untrained(config);
  const probe::Circuits found = read_circuits(config, *made.task, made.bytes());
  const Tensor embedding = made.model->named_parameters()["embedding.weight"].detach().to(torch::kDouble);
  for (const std::int64_t head : {0, 1})
    EXPECT_NEAR(found.copying[static_cast<std::size_t>(head)], by_whole_matrix(made, head, embedding), 1e-5);
}

TEST(CircuitsOfParts, two_stacks_compose_within_themselves) {
  const RunConfig config = small_config("copy", models::Family::kEncoderDecoder);
  const Untrained made = untrained(config);
  const probe::Circuits found = read_circuits(config, *made.task, made.bytes());
  ASSERT_EQ(found.copying.size(), 12U);
  for (const double copying : found.copying) EXPECT_TRUE(std::isnan(copying));
  std::int64_t of_encoder = 0, of_decoder = 0;
  for (const probe::Composition& one : found.compositions) {
    EXPECT_EQ(one.lower.stack, one.upper.stack);
    EXPECT_EQ(one.lower.layer, 0);
    EXPECT_EQ(one.upper.layer, 1);
    for (const double value : {one.query, one.key, one.value}) {
      EXPECT_GT(value, 0.0);
      EXPECT_LE(value, 1.0 + 1e-9);
    }
    (one.upper.stack == Stack::kEncoder ? of_encoder : of_decoder) += 1;
    EXPECT_NE(one.upper.stack, Stack::kCross);
  }
  EXPECT_EQ(of_encoder, 4);
  EXPECT_EQ(of_decoder, 4);
}

TEST(CircuitsOfParts, value_composition_is_the_ratio_of_norms) {
  for (const nn::NormKind kind : {nn::NormKind::kLayer, nn::NormKind::kRms}) {
    RunConfig config = small_config("sort", models::Family::kEncoder);
    config.model.norm_kind = kind;
    const Untrained made = untrained(config);
    const auto named = [&](const std::string& name) {
      return made.model->named_parameters()[name].detach().to(torch::kDouble);
    };
    const Tensor eye = torch::eye(16, torch::kDouble);
    const Tensor read = kind == nn::NormKind::kLayer ? eye - 1.0 / 16.0 : eye;
    const auto through = [&](const std::string& layer, std::int64_t head) {
      const std::string name = "encoder.layers." + layer + ".attention.";
      return read.mm(named(name + "in_proj_weight").narrow(0, 32 + 8 * head, 8).t())
          .mm(named(name + "out_proj.weight").narrow(1, 8 * head, 8).t());
    };
    for (const probe::Composition& one : read_circuits(config, *made.task, made.bytes()).compositions) {
      const Tensor lower = through("0", one.lower.head), upper = through("1", one.upper.head);
      const double want = (lower.mm(upper).norm() / (lower.norm() * upper.norm())).item<double>();
      EXPECT_NEAR(one.value, want, 1e-9);
    }
  }
}

}  // namespace
}  // namespace headtorch::train
