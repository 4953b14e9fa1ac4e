// Properties of attention over shapes, masks, scores and positions drawn at random.

#include <gtest/gtest.h>

#include <random>

#include "tests/nn/combinations.hpp"
#include "tests/support/tensors.hpp"

namespace headtorch::nn {
namespace {

using test::close;
using test::normal;

class Draws {
 public:
  explicit Draws(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

test::Sizes some_sizes(Draws& draws, std::int64_t least_width) {
  const std::int64_t length = draws.between(1, 9), width = draws.between(least_width, 5);
  return {draws.between(1, 3), draws.between(1, 4), length, length, width, width};
}

/// Any mix of conditions; at times rows that see nothing, at times none that does.
Mask some_mask(Draws& draws, const test::Sizes& s) {
  Mask mask;
  if (draws.one_in(2)) mask.visibility = Visibility::kCausal;
  if (draws.one_in(3)) mask.window = draws.between(0, 4);
  if (draws.one_in(2)) {
    const std::int64_t heads = draws.one_in(2) ? s.heads : 1, batch = draws.one_in(2) ? s.batch : 1;
    const std::int64_t queries = draws.one_in(3) ? 1 : s.queries;
    mask.visible = torch::rand({batch, heads, queries, s.keys}) < (draws.one_in(4) ? 0.0 : 0.7);
  }
  return mask;
}

TEST(RandomShapes, every_path_is_the_explicit_one_and_examples_stand_alone) {
  Draws draws(5);
  torch::manual_seed(5);
  const std::vector<Combination> all = combinations();
  for (int round = 0; round < 300; ++round) {
    const Combination one =
        all[static_cast<std::size_t>(draws.between(0, static_cast<std::int64_t>(all.size()) - 1))];
    const test::Sizes s = some_sizes(draws, one.position == Position::kRope ? 2 : 1);
    const Mask mask = some_mask(draws, s);
    SCOPED_TRACE(testing::Message() << round << ": " << one.name() << ", B " << s.batch << ", H " << s.heads
                                    << ", T " << s.queries << ", E " << s.features);
    MultiHeadAttention module = make(one, s);
    const std::int64_t width = s.heads * s.features;
    const Tensor x = normal({s.batch, s.queries, width}, static_cast<std::uint64_t>(round)).requires_grad_();
    const Tensor tokens_BT = some_tokens(s.batch, s.queries);
    const MultiHeadAttentionResult kept = module->forward(x, masked(mask, Keep::kPattern, tokens_BT));
    ASSERT_EQ(kept.y.sizes(), x.sizes());
    ASSERT_EQ(kept.pattern.sizes(), (torch::IntArrayRef{s.batch, s.heads, s.queries, s.keys}));
    EXPECT_TRUE(test::all_finite(kept.y));

    const Tensor resolved = attention::resolve(mask, s.queries, s.keys, torch::kCPU);
    const Tensor visible = (resolved.defined() ? resolved : torch::ones({s.queries, s.keys}, torch::kBool))
                               .expand_as(kept.pattern);
    EXPECT_TRUE((kept.pattern.masked_select(~visible) == 0.0).all().item<bool>());
    const Tensor sums = kept.pattern.sum(-1);
    EXPECT_TRUE((((sums - 1.0).abs() < 1e-12) | (sums == 0.0)).all().item<bool>());

    const auto explicit_call = explicitly(masked(mask, Keep::kOutput, tokens_BT));
    const Tensor wanted = module->forward(x, explicit_call).y, grad_y = torch::ones_like(kept.y);
    EXPECT_TRUE(close(kept.y, wanted));
    const std::vector<Tensor> got = gradients(module, kept.y, x, grad_y);
    const std::vector<Tensor> want = gradients(module, wanted, x, grad_y);
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(test::all_finite(got[i]));
      EXPECT_TRUE(close(got[i], want[i], 1e-11)) << "parameter " << i;
    }

    const std::int64_t example = draws.between(0, s.batch - 1);
    Mask own = mask;
    if (mask.visible.defined() && mask.visible.size(0) > 1) own.visible = mask.visible.narrow(0, example, 1);
    const Tensor alone =
        module->forward(x.narrow(0, example, 1), masked(own, Keep::kOutput, tokens_BT.narrow(0, example, 1)))
            .y;
    EXPECT_TRUE(close(alone, kept.y.narrow(0, example, 1)));
  }
}

TEST(RandomShapes, dropout_does_not_depend_on_the_share_of_the_batch) {
  Draws draws(6);
  torch::manual_seed(6);
  const std::vector<Combination> all = combinations();
  for (const Combination& one : all) {
    const test::Sizes s = some_sizes(draws, 2);
    MultiHeadAttention module = make(one, s, 0.4);
    const Mask mask = draws.one_in(2) ? Mask{Visibility::kCausal, {}} : Mask{};
    const Tensor x = normal({s.batch, s.queries, s.heads * s.features}, 1);
    const Tensor tokens_BT = some_tokens(s.batch, s.queries);
    const auto run = [&](std::int64_t first, std::int64_t count) {
      DropoutStream stream(3, 2, first);
      AttentionCall call = masked(mask, Keep::kOutput, tokens_BT.narrow(0, first, count));
      call.dropout = &stream;
      return module->forward(x.narrow(0, first, count), call).y;
    };
    const Tensor whole = run(0, s.batch);
    for (std::int64_t first = 0; first < s.batch; ++first)
      EXPECT_TRUE(close(run(first, 1), whole.narrow(0, first, 1))) << one.name();
  }
}

}  // namespace
}  // namespace headtorch::nn
