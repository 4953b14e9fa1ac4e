// Replacing heads of an encoder-decoder's three stacks, against models that were built without them.

#include <gmock/gmock.h>

#include <cmath>

#include "src/core/error.hpp"
#include "tests/support/errors.hpp"
#include "tests/train/untrained.hpp"
#include "train/interventions.hpp"

namespace headtorch::train {
namespace {

using probe::ExampleResults;
using test::fails;
using testing::HasSubstr;

constexpr std::int64_t kExamples = 12;
constexpr Stack kStacks[] = {Stack::kEncoder, Stack::kDecoder, Stack::kCross};

Untrained made() { return untrained(small_config("dates", models::Family::kEncoderDecoder)); }

void expect_near(const ExampleResults& got, const ExampleResults& want, const std::string& what) {
  ASSERT_EQ(got.loss.size(), want.loss.size()) << what;
  for (std::size_t i = 0; i < want.loss.size(); ++i)
    EXPECT_NEAR(got.loss[i], want.loss[i], 1e-4) << what << " " << i;
  EXPECT_EQ(got.counted, want.counted) << what;
}

bool differ(const ExampleResults& a, const ExampleResults& b) {
  for (std::size_t i = 0; i < a.loss.size(); ++i) {
    if (std::abs(a.loss[i] - b.loss[i]) > 1e-4) return true;
  }
  return false;
}

TEST(InterventionsOnStacks, removing_nothing_changes_nothing) {
  const Untrained model = made();
  const Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  for (const Replacement how : {Replacement::kRemoved, Replacement::kMean, Replacement::kUniform}) {
    const ExampleResults same = heads.measure(how, {}, kExamples);
    expect_near(same, heads.base(), "nothing");
    EXPECT_EQ(same.right, heads.base().right);
  }
  EXPECT_EQ(heads.measure(Replacement::kRemoved, {}, kExamples).loss, heads.base().loss) << "to the bit";
  EXPECT_EQ(heads.base().loss.size(), static_cast<std::size_t>(kExamples));
  EXPECT_EQ(heads.model(), model.bytes());
}

/// The model whose head of this place writes nothing.
std::string silenced(const HeadPlace& place) {
  Untrained model = made();
  const std::string stack = place.stack == Stack::kEncoder ? "encoder" : "decoder";
  const std::string module = place.stack == Stack::kCross ? "cross" : "attention";
  const std::string prefix = stack + ".layers." + std::to_string(place.layer) + "." + module + ".in_proj_";
  const std::int64_t width = model.config.model.d_model, one = width / model.config.model.n_heads;
  const torch::NoGradGuard no_grad;
  for (const std::string part : {"weight", "bias"})
    model.model->named_parameters()[prefix + part].narrow(0, 2 * width + place.head * one, one).zero_();
  return model.bytes();
}

TEST(InterventionsOnStacks, a_removed_head_is_one_that_writes_nothing) {
  const Untrained model = made();
  const Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  for (const Stack stack : kStacks) {
    for (const std::int64_t layer : {0, 1}) {
      for (const std::int64_t head : {0, 1}) {
        const HeadPlace place{layer, head, stack};
        const Interventions without(model.config, *model.task, silenced(place), kExamples);
        const ExampleResults removed = heads.measure(Replacement::kRemoved, {place}, kExamples);
        expect_near(removed, without.base(), head_name(place));
        EXPECT_TRUE(differ(removed, heads.base())) << head_name(place) << " does nothing";
      }
    }
  }
}

TEST(InterventionsOnStacks, a_kernel_in_place_of_a_head_is_the_model_built_with_it) {
  const Untrained model = made();
  Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  const HeadKernel kernel{.family = KernelFamily::kGaussian, .offset = 1.0, .bandwidth = 0.8, .eps = 0.1};
  for (const Stack stack : kStacks) {
    const HeadPlace place{1, 0, stack};
    heads.set_kernel(place, kernel);
    RunConfig with = model.config;
    with.model.head_kernels = {{1, 0, kernel, stack}};
    const Interventions built(with, *model.task, model.bytes(), kExamples);
    expect_near(heads.measure(Replacement::kKernel, {place}, kExamples), built.base(), head_name(place));
    with.model.head_kernels = {{1, 0, HeadKernel{}, stack}};
    const Interventions uniform(with, *model.task, model.bytes(), kExamples);
    expect_near(heads.measure(Replacement::kUniform, {place}, kExamples), uniform.base(), head_name(place));
  }
}

TEST(InterventionsOnStacks, the_order_of_heads_does_not_matter) {
  const Untrained model = made();
  const Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  const HeadPlace a{0, 1, Stack::kEncoder}, b{1, 0, Stack::kCross}, c{0, 0, Stack::kDecoder};
  for (const Replacement how : {Replacement::kRemoved, Replacement::kMean, Replacement::kUniform})
    expect_near(heads.measure(how, {a, b, c}, kExamples), heads.measure(how, {c, a, b}, kExamples), "order");
}

TEST(InterventionsOnStacks, numbers_of_every_place_come_in_order) {
  const Untrained model = made();
  const Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  const std::vector<double> importance = heads.importance(), entropy = heads.entropy_normalised();
  ASSERT_EQ(importance.size(), 12U);
  ASSERT_EQ(entropy.size(), 12U);
  for (std::size_t place = 0; place < 6; ++place) {
    EXPECT_NEAR(std::hypot(importance[2 * place], importance[2 * place + 1]), 1.0, 1e-9) << place;
    for (const std::size_t head : {2 * place, 2 * place + 1}) {
      EXPECT_GE(importance[head], 0.0);
      EXPECT_GT(entropy[head], 0.0);
      EXPECT_LE(entropy[head], 1.0 + 1e-9);
    }
  }
  // Uniform over what each may see, padding left out: the most there is.
  RunConfig flat = model.config;
  for (const Stack stack : kStacks) flat.model.head_kernels.push_back({0, 1, HeadKernel{}, stack});
  const Interventions uniform(flat, *model.task, model.bytes(), kExamples);
  for (const std::size_t place : {0, 2, 4})
    EXPECT_NEAR(uniform.entropy_normalised()[2 * place + 1], 1.0, 1e-6);
}

TEST(InterventionsOnStacks, heads_that_are_not_there_are_refused_by_name) {
  const Untrained model = made();
  Interventions heads(model.config, *model.task, model.bytes(), kExamples);
  for (const HeadPlace& place : {HeadPlace{0, 0, Stack::kSelf},
                                 {2, 0, Stack::kCross},
                                 {0, 2, Stack::kEncoder},
                                 {-1, 0, Stack::kDecoder},
                                 {0, -1, Stack::kDecoder}}) {
    EXPECT_TRUE(fails([&] { heads.measure(Replacement::kRemoved, {place}, 2); }, ExitCode::kBadConfig,
                      testing::AllOf(HasSubstr(head_name(place)), HasSubstr("E0H0"), HasSubstr("C1H1"))));
    EXPECT_TRUE(fails([&] { heads.set_kernel(place, {}); }, ExitCode::kBadConfig));
  }
  EXPECT_TRUE(fails(
      [&] {
        heads.measure(Replacement::kKernel, {{0, 0, Stack::kCross}}, 2);
      },
      ExitCode::kBadConfig, HasSubstr("C0H0")));
}

}  // namespace
}  // namespace headtorch::train
