#include "src/attention/blocked.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "src/attention/attend.hpp"
#include "src/attention/relative.hpp"
#include "src/core/error.hpp"
#include "tests/support/attention_inputs.hpp"

namespace headtorch::attention {
namespace {

using test::close;
using test::identical;
using test::Inputs;
using test::inputs;
using test::normal;
using torch::Tensor;

struct Case {
  test::NamedScore score;
  Mask mask;
  double dropout = 0.0;
};

AttendPiece piece_of(const Case& c, const Tensor& parameter) {
  return [=](const Piece& piece, const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor bias = alibi_bias(alibi_slopes(q.size(1)), piece, torch::kFloat64);
    const WeightEdit edit = [&](const Tensor& w) { return torch::dropout(w, c.dropout, true); };
    return attend_explicit(c.score.of(q, k, parameter) + bias, v, resolve(c.mask, piece, torch::kCPU), edit)
        .y;
  };
}

struct Trial {
  Tensor y;
  std::vector<Tensor> gradients;  // of q, k, v and the parameter
  Tensor next;                    // drawn after the backward pass
};

Trial run(const Case& c, const Inputs& in, std::int64_t rows_at_once) {
  const auto leaf = [](const Tensor& t) { return t.clone().requires_grad_(); };
  const Inputs x{leaf(in.q), leaf(in.k), leaf(in.v)};
  const Tensor parameter = leaf(c.score.parameter);
  torch::manual_seed(9);
  const Tensor y = attend_blocked(piece_of(c, parameter), {.q = x.q,
                                                           .k = x.k,
                                                           .v = x.v,
                                                           .visibility = c.mask.visibility,
                                                           .window = c.mask.window,
                                                           .captured = {parameter},
                                                           .rows_at_once = rows_at_once});
  const Tensor next = torch::rand({4}, torch::kFloat64);
  const Tensor grad_y = torch::linspace(-1.0, 1.0, y.numel(), torch::kFloat64).view(y.sizes());
  auto gradients = torch::autograd::grad({y}, {x.q, x.k, x.v, parameter}, {grad_y});
  return {y, gradients, torch::cat({next, torch::rand({4}, torch::kFloat64)})};
}

Trial run_whole(const Case& c, const Inputs& in) {
  const auto leaf = [](const Tensor& t) { return t.clone().requires_grad_(); };
  const Inputs x{leaf(in.q), leaf(in.k), leaf(in.v)};
  const Tensor parameter = leaf(c.score.parameter);
  const Tensor y = piece_of(c, parameter)(whole(x.q.size(2), x.k.size(2)), x.q, x.k, x.v);
  const Tensor grad_y = torch::linspace(-1.0, 1.0, y.numel(), torch::kFloat64).view(y.sizes());
  return {y, torch::autograd::grad({y}, {x.q, x.k, x.v, parameter}, {grad_y}), {}};
}

void expect_equal(const Trial& got, const Trial& want) {
  EXPECT_TRUE(close(got.y, want.y));
  for (std::size_t i = 0; i < want.gradients.size(); ++i) {
    EXPECT_TRUE(close(got.gradients[i], want.gradients[i])) << "of q, k, v, the parameter: " << i;
  }
}

TEST(Blocked, is_the_explicit_path_with_gradients_for_every_size_score_and_mask) {
  for (const test::Sizes& s : test::kSizes) {
    const Inputs in = inputs(s);
    for (const auto& score : test::scores(s.heads, s.features)) {
      for (const auto& [name, mask] : test::masks(s)) {
        const Case c{score, mask};
        const Trial want = run_whole(c, in);
        for (const std::int64_t rows_at_once : {1, 4, 64}) {
          SCOPED_TRACE(testing::Message() << score.name << ", " << name << ", T " << s.queries << ", S "
                                          << s.keys << ", rows at once " << rows_at_once);
          expect_equal(run(c, in, rows_at_once), want);
        }
      }
    }
  }
}

TEST(Blocked, random_shapes) {
  torch::manual_seed(31);
  for (int round = 0; round < 40; ++round) {
    const auto draw = [](std::int64_t most) { return torch::randint(1, most + 1, {}).item<std::int64_t>(); };
    const test::Sizes s{draw(3), draw(3), draw(12), draw(12), draw(5), draw(5)};
    const Mask mask{round % 2 == 0 ? Visibility::kCausal : Visibility::kAll, {}, draw(6) - 1};
    const Case c{test::scores(s.heads, s.features)[static_cast<std::size_t>(round) % 7], mask};
    const std::int64_t rows_at_once = draw(5);
    SCOPED_TRACE(testing::Message() << c.score.name << ", T " << s.queries << ", S " << s.keys << ", window "
                                    << mask.window << ", rows at once " << rows_at_once);
    const Inputs in = inputs(s, 100 + static_cast<std::uint64_t>(round));
    expect_equal(run(c, in, rows_at_once), run_whole(c, in));
    torch::manual_seed(static_cast<std::uint64_t>(round));
  }
}

TEST(Blocked, a_piece_gets_no_more_than_its_rows_and_the_keys_they_may_see) {
  const Inputs in = inputs({1, 1, 20, 20, 2, 2});
  std::vector<Piece> seen;
  const AttendPiece attend = [&](const Piece& piece, const Tensor& q, const Tensor& k, const Tensor& v) {
    seen.push_back(piece);
    EXPECT_EQ(q.size(2), piece.queries);
    EXPECT_EQ(k.size(2), piece.keys);
    EXPECT_EQ(v.size(2), piece.keys);
    return torch::zeros({1, 1, piece.queries, 2}, torch::kFloat64);
  };
  const auto keys_of = [&](Visibility visibility, std::int64_t window) {
    seen.clear();
    attend_blocked(attend, {in.q, in.k, in.v, visibility, window, {}, 8});
    std::vector<std::pair<std::int64_t, std::int64_t>> keys;
    for (const Piece& piece : seen) keys.emplace_back(piece.first_key, piece.keys);
    return keys;
  };
  using testing::ElementsAre;
  using testing::Pair;
  EXPECT_THAT(keys_of(Visibility::kAll, kNoWindow), ElementsAre(Pair(0, 20), Pair(0, 20), Pair(0, 20)));
  EXPECT_THAT(keys_of(Visibility::kCausal, kNoWindow), ElementsAre(Pair(0, 8), Pair(0, 16), Pair(0, 20)));
  EXPECT_THAT(keys_of(Visibility::kAll, 2), ElementsAre(Pair(0, 10), Pair(6, 12), Pair(14, 6)));
  EXPECT_THAT(keys_of(Visibility::kCausal, 2), ElementsAre(Pair(0, 8), Pair(6, 10), Pair(14, 6)));
}

TEST(Blocked, dropout_is_replayed_and_what_follows_draws_as_it_would_have) {
  const test::Sizes s{2, 2, 11, 11, 3, 4};
  const Inputs in = inputs(s);
  for (const Visibility visibility : {Visibility::kAll, Visibility::kCausal}) {
    const Case c{test::scores(2, 3)[1], {visibility, {}}, 0.4};
    const Trial got = run(c, in, 4);
    // The same numbers, drawn piece by piece on a graph of its own.
    const auto leaf = [](const Tensor& t) { return t.clone().requires_grad_(); };
    const Inputs x{leaf(in.q), leaf(in.k), leaf(in.v)};
    const Tensor parameter = leaf(c.score.parameter);
    torch::manual_seed(9);
    std::vector<Tensor> rows;
    for (const std::int64_t row : {0, 4, 8}) {
      const std::int64_t queries = std::min<std::int64_t>(4, 11 - row);
      const std::int64_t keys = visibility == Visibility::kCausal ? row + queries : 11;
      rows.push_back(piece_of(c, parameter)({row, queries, 0, keys}, x.q.narrow(2, row, queries),
                                            x.k.narrow(2, 0, keys), x.v.narrow(2, 0, keys)));
    }
    const Tensor y = torch::cat(rows, 2);
    const Tensor next = torch::rand({8}, torch::kFloat64);
    const Tensor grad_y = torch::linspace(-1.0, 1.0, y.numel(), torch::kFloat64).view(y.sizes());
    expect_equal(got, {y, torch::autograd::grad({y}, {x.q, x.k, x.v, parameter}, {grad_y}), {}});
    EXPECT_TRUE(identical(got.next, next));
  }
}

TEST(Blocked, what_does_not_fit_is_refused) {
  const Inputs in = inputs({2, 2, 6, 5, 4, 3});
  const AttendPiece attend = piece_of({test::scores(2, 4)[0], {}}, torch::ones({2}, torch::kFloat64));
  EXPECT_THROW(attend_blocked(attend, {in.q[0], in.k, in.v}), ShapeError);
  EXPECT_THROW(attend_blocked(attend, {in.q, in.k.narrow(1, 0, 1), in.v}), ShapeError);
  EXPECT_THROW(attend_blocked(attend, {in.q, in.k, in.v.narrow(2, 0, 4)}), ShapeError);
  EXPECT_THROW(attend_blocked(attend, {.q = in.q, .k = in.k, .v = in.v, .rows_at_once = 0}), ConfigError);
  EXPECT_THROW(attend_blocked(attend, {.q = in.q, .k = in.k, .v = in.v, .window = -1}), ConfigError);
  const AttendPiece wrong = [](const Piece&, const Tensor& q, const Tensor&, const Tensor&) { return q; };
  EXPECT_THROW(attend_blocked(wrong, {in.q, in.k, in.v}), ShapeError);
}

}  // namespace
}  // namespace headtorch::attention
