#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/kernels/every_set.hpp"
#include "tests/kernels/numbers.hpp"

namespace headtorch::kernels::test {
namespace {

HEADTORCH_KERNEL_TESTS(AttentionOfEverySet);
HEADTORCH_KERNEL_TESTS(TurnPairsOfEverySet);

struct Case {
  AttentionSizes sizes;
  bool causal = false, has_lengths = false, has_bias = false, has_dropout = false;
  float scale = 0.5F;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "B " << c.sizes.sequences << " T " << c.sizes.tokens << " H " << c.sizes.heads << " E "
             << c.sizes.features << (c.causal ? " causal" : "") << (c.has_lengths ? " lengths" : "")
             << (c.has_bias ? " bias" : "") << (c.has_dropout ? " dropout" : "");
}

constexpr double kDropped = 0.3;

/// What goes in, in arrays that end at a guard.
struct Inputs {
  Inputs(const Case& its_case, Random& random)
      : c(its_case),
        qkv(random_floats(random, rows() * 3 * width(), 1.5)),
        y_gradient(random_floats(random, rows() * width())),
        lengths(c.sizes.sequences),
        bias(random_floats(random, c.sizes.heads * tokens() * tokens(), 2.0)),
        mask(random, c.sizes.sequences * c.sizes.heads * tokens() * tokens(), kDropped) {
    for (std::int64_t& length : lengths) length = between(random, 0, tokens());
    for (float& b : bias) {
      if (random.uniform() < 0.2) b = -kInfinity;
    }
  }

  std::int64_t tokens() const { return c.sizes.tokens; }
  std::int64_t width() const { return c.sizes.heads * c.sizes.features; }
  std::int64_t rows() const { return c.sizes.sequences * c.sizes.tokens; }

  AttentionRule rule() const {
    return {.causal = c.causal,
            .lengths = c.has_lengths ? lengths.data() : nullptr,
            .bias = c.has_bias ? bias.data() : nullptr,
            .dropout = {c.has_dropout ? mask.bits.data() : nullptr,
                        c.has_dropout ? static_cast<float>(1.0 / (1.0 - kDropped)) : 1.0F}};
  }

  /// Whether the rule lets query i of a sequence look at key j at all.
  bool sees(std::int64_t sequence, std::int64_t i, std::int64_t j) const {
    return (!c.causal || j <= i) && (!c.has_lengths || j < lengths[sequence]);
  }

  Case c;
  Floats qkv, y_gradient;
  Guarded<std::int64_t> lengths;
  Floats bias;
  Mask mask;
};

/// The definition in double, and its gradient by the chain rule. Magnitudes grow by the largest of a row's
/// scores: the error of a score is its weight's relative error.
struct Reference {
  std::vector<Sum> weights, y;                   // [B, H, T, T], [B T, D]
  std::vector<Sum> qkv_gradient, bias_gradient;  // [B T, 3 D], [H, T, T]
};

Reference reference(const Inputs& in, const std::vector<double>& qkv) {
  const auto [B, T, H, E] = in.c.sizes;
  const std::int64_t D = in.width();
  const AttentionRule rule = in.rule();
  const auto scale = static_cast<double>(in.c.scale);
  const auto at = [&](std::int64_t b, std::int64_t t, int part, std::int64_t h, std::int64_t e) {
    return static_cast<std::size_t>((b * T + t) * 3 * D + part * D + h * E + e);
  };
  Reference out;
  out.weights.resize(static_cast<std::size_t>(B * H * T * T));
  out.y.resize(static_cast<std::size_t>(B * T * D));
  out.qkv_gradient.resize(qkv.size());
  out.bias_gradient.resize(static_cast<std::size_t>(H * T * T));
  const auto n = static_cast<std::size_t>(T);
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t i = 0; i < T; ++i) {
        std::vector<Sum> score(n), gradient(n);
        std::vector<double> kept(n, 1.0);
        double most = -HUGE_VAL, total = 0.0, growth = 1.0;
        for (std::int64_t j = 0; j < T; ++j) {
          Sum& s = score[static_cast<std::size_t>(j)];
          const std::int64_t place = ((b * H + h) * T + i) * T + j;
          if (rule.dropout.bits != nullptr)
            kept[static_cast<std::size_t>(j)] =
                in.mask.kept(place) ? static_cast<double>(rule.dropout.scale) : 0.0;
          for (std::int64_t e = 0; e < E; ++e) s.add(scale * qkv[at(b, i, 0, h, e)] * qkv[at(b, j, 1, h, e)]);
          if (rule.bias != nullptr) s.add(static_cast<double>(rule.bias[(h * T + i) * T + j]));
          if (!in.sees(b, i, j)) s.value = -HUGE_VAL;
          if (s.value > -HUGE_VAL) growth = std::max(growth, 1.0 + s.magnitude);
          most = std::max(most, s.value);
        }
        if (most == -HUGE_VAL) continue;
        for (const Sum& s : score) total += std::exp(s.value - most);
        Sum mean;
        for (std::int64_t j = 0; j < T; ++j) {
          const auto column = static_cast<std::size_t>(j);
          const double p = std::exp(score[column].value - most) / total;
          out.weights[static_cast<std::size_t>(((b * H + h) * T + i) * T + j)] = {p, p * growth};
          for (std::int64_t e = 0; e < E; ++e) {
            const double v = qkv[at(b, j, 2, h, e)] * kept[column],
                         dy = static_cast<double>(in.y_gradient[(b * T + i) * D + h * E + e]);
            out.y[static_cast<std::size_t>((b * T + i) * D + h * E + e)].add(p * v, p * growth * std::abs(v));
            gradient[column].add(dy * v);
            const double dv = p * kept[column] * dy;
            out.qkv_gradient[at(b, j, 2, h, e)].add(dv, std::abs(dv) * growth);
          }
          mean.add(p * gradient[column].value, p * growth * gradient[column].magnitude);
        }
        for (std::int64_t j = 0; j < T; ++j) {
          const auto column = static_cast<std::size_t>(j);
          const double p = std::exp(score[column].value - most) / total;
          const Sum ds = {p * (gradient[column].value - mean.value),
                          p * growth * (gradient[column].magnitude + mean.magnitude)};
          out.bias_gradient[static_cast<std::size_t>((h * T + i) * T + j)].add(ds.value, ds.magnitude);
          for (std::int64_t e = 0; e < E; ++e) {
            const double q = scale * qkv[at(b, i, 0, h, e)], k = scale * qkv[at(b, j, 1, h, e)];
            out.qkv_gradient[at(b, i, 0, h, e)].add(ds.value * k, ds.magnitude * std::abs(k));
            out.qkv_gradient[at(b, j, 1, h, e)].add(ds.value * q, ds.magnitude * std::abs(q));
          }
        }
      }
    }
  }
  return out;
}

Reference reference(const Inputs& in) {
  return reference(in, std::vector<double>(in.qkv.begin(), in.qkv.end()));
}

/// What the kernels leave; everything starts as NaN but the bias's gradient, which they add to.
struct Outputs {
  Outputs(const Kernels& kernels, const Inputs& in)
      : weights(in.c.sizes.sequences * in.c.sizes.heads * in.tokens() * in.c.sizes.weight_stride(), kNaN),
        y(in.rows() * in.width(), kNaN),
        qkv_gradient(in.qkv.size(), kNaN),
        bias_gradient(in.bias.size(), 1.0F) {
    Guarded<char> scratch = aligned_bytes(attention_scratch_bytes(in.c.sizes));
    kernels.attention_forward({.sizes = in.c.sizes,
                               .rule = in.rule(),
                               .scale = in.c.scale,
                               .qkv = in.qkv.data(),
                               .weights = weights.data(),
                               .y = y.data(),
                               .scratch = scratch.data()});
    std::fill(scratch.begin(), scratch.end(), static_cast<char>(0xff));
    kernels.attention_backward({.sizes = in.c.sizes,
                                .rule = in.rule(),
                                .scale = in.c.scale,
                                .qkv = in.qkv.data(),
                                .weights = weights.data(),
                                .y_gradient = in.y_gradient.data(),
                                .qkv_gradient = qkv_gradient.data(),
                                .bias_gradient = in.c.has_bias ? bias_gradient.data() : nullptr,
                                .scratch = scratch.data()});
  }

  Floats weights, y, qkv_gradient, bias_gradient;
};

/// Weights, y and gradients against the definition; weights that must be 0 are exactly so; rows sum to 1 or
/// 0.
void expect_its_definition(const Kernels& kernels, const Inputs& in) {
  SCOPED_TRACE(::testing::Message() << in.c);
  const Reference expected = reference(in);
  const Outputs out(kernels, in);
  const std::int64_t T = in.tokens(), H = in.c.sizes.heads, stride = in.c.sizes.weight_stride();
  for (std::int64_t row = 0; row < in.c.sizes.sequences * H * T; ++row) {
    const std::int64_t sequence = row / (H * T), head = row / T % H, i = row % T;
    Sum sum;
    bool sees_any = false;
    for (std::int64_t j = 0; j < stride; ++j) {
      const float weight = out.weights[row * stride + j];
      const bool hidden = j >= T || !in.sees(sequence, i, j) ||
                          (in.c.has_bias && in.bias[(head * T + i) * T + j] == -kInfinity);
      if (hidden) {
        ASSERT_EQ(weight, 0.0F) << "row " << row << " key " << j;
        continue;
      }
      sees_any = true;
      sum.add(static_cast<double>(weight));
      ASSERT_TRUE(close(weight, expected.weights[static_cast<std::size_t>(row * T + j)]))
          << "row " << row << " key " << j;
    }
    sum.value -= sees_any ? 1.0 : 0.0;
    ASSERT_TRUE(close(0.0, sum)) << "row " << row;
  }
  const auto expect_all = [](const Floats& actual, const std::vector<Sum>& wanted, double start,
                             const char* what) {
    for (std::int64_t i = 0; i < actual.size(); ++i) {
      Sum sum = wanted[static_cast<std::size_t>(i)];
      if (start != 0.0) sum.add(start);
      ASSERT_TRUE(close(actual[i], sum)) << what << ' ' << i;
    }
  };
  expect_all(out.y, expected.y, 0.0, "y");
  expect_all(out.qkv_gradient, expected.qkv_gradient, 0.0, "gradient of qkv");
  if (in.c.has_bias) expect_all(out.bias_gradient, expected.bias_gradient, 1.0, "gradient of bias");
}

/// Rule number `i` of 16, so that every combination comes up.
Case with_rule(AttentionSizes sizes, std::int64_t i) {
  return {.sizes = sizes,
          .causal = (i & 1) != 0,
          .has_lengths = (i & 2) != 0,
          .has_bias = (i & 4) != 0,
          .has_dropout = (i & 8) != 0};
}

TEST_P(AttentionOfEverySet, is_its_definition_at_every_number_of_tokens) {
  Random random(11, 0);
  for (std::int64_t tokens = 1; tokens <= 70; ++tokens) {
    for (const std::int64_t rule : {tokens % 16, random.below(16)}) {
      const AttentionSizes sizes = {between(random, 1, 3), tokens, between(random, 1, 3),
                                    between(random, 1, 20)};
      expect_its_definition(*kernels, Inputs(with_rule(sizes, rule), random));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionOfEverySet, is_its_definition_at_every_number_of_features) {
  Random random(12, 0);
  for (std::int64_t features = 1; features <= 40; ++features) {
    for (const std::int64_t rule : {features % 16, 15 - features % 16}) {
      const AttentionSizes sizes = {2, between(random, 1, 40), 2, features};
      expect_its_definition(*kernels, Inputs(with_rule(sizes, rule), random));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(AttentionOfEverySet, is_its_definition_under_every_rule_in_blocks_of_rows) {
  Random random(13, 0);
  for (std::int64_t rule = 0; rule < 16; ++rule) {
    expect_its_definition(*kernels, Inputs(with_rule({2, 97, 2, 16}, rule), random));
    if (HasFatalFailure()) return;
  }
}

TEST_P(AttentionOfEverySet, large_scores_do_not_overflow) {
  Random random(14, 0);
  Inputs in(with_rule({1, 20, 1, 8}, 0), random);
  for (float& x : in.qkv) x *= 100.0F;
  const Outputs out(*kernels, in);
  for (const float w : out.weights) ASSERT_TRUE(w >= 0.0F && w <= 1.0F + 1e-6F) << w;
  for (const float g : out.qkv_gradient) ASSERT_TRUE(std::isfinite(g));
}

TEST_P(AttentionOfEverySet, a_query_that_sees_nothing_gives_exact_zeros) {
  Random random(15, 0);
  for (const std::int64_t tokens : {1, 5, 16, 33, 70}) {
    for (const bool by_length : {false, true}) {
      Inputs in(with_rule({2, tokens, 2, 5}, by_length ? 2 + 8 : 4 + 8), random);
      std::fill(in.lengths.begin(), in.lengths.end(), 0);
      std::fill(in.bias.begin(), in.bias.end(), -kInfinity);
      const Outputs out(*kernels, in);
      for (const float w : out.weights) ASSERT_EQ(w, 0.0F);
      for (const float y : out.y) ASSERT_EQ(y, 0.0F);
      for (const float g : out.qkv_gradient) ASSERT_EQ(g, 0.0F);
      for (const float g : out.bias_gradient) ASSERT_EQ(g, 1.0F);
    }
  }
}

TEST_P(AttentionOfEverySet, a_key_that_is_not_a_number_marks_every_row_that_sees_it) {
  Random random(16, 0);
  for (const std::int64_t tokens : {1, 2, 9, 20, 40}) {
    for (std::int64_t bad = 0; bad < tokens; ++bad) {
      for (const bool only_key : {false, true}) {
        Inputs in(with_rule({1, tokens, 1, 4}, 1 + 4), random);
        // Without a bias of -infinity, or with one that hides every other key.
        for (std::int64_t i = 0; i < in.bias.size(); ++i)
          in.bias[i] = only_key && i % tokens != bad ? -kInfinity : 0.5F;
        for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc00001u, 0x7fffffffu}) {
          std::memcpy(&in.qkv[bad * 12 + 4], &bits, sizeof bits);
          const Outputs out(*kernels, in);
          for (std::int64_t i = 0; i < tokens; ++i) {
            for (std::int64_t j = 0; j <= i; ++j) {
              const float w = out.weights[i * in.c.sizes.weight_stride() + j];
              ASSERT_EQ(std::isnan(w), i >= bad) << "T " << tokens << " bad " << bad << " query " << i
                                                 << " key " << j << " bits " << std::hex << bits;
            }
            ASSERT_TRUE(i < bad || std::isnan(out.y[i * 4])) << i;
            ASSERT_TRUE(i < bad || std::isnan(out.qkv_gradient[i * 12])) << i;
          }
        }
      }
    }
  }
}

TEST_P(AttentionOfEverySet, gradients_that_are_not_numbers_stay) {
  Random random(17, 0);
  for (std::int64_t bad = 0; bad < 40; ++bad) {
    Inputs in(with_rule({1, 40, 1, 3}, 1), random);
    in.y_gradient[bad * 3 + bad % 3] = kNaN;
    const Outputs out(*kernels, in);
    for (std::int64_t e = 0; e < 3; ++e) {
      ASSERT_TRUE(std::isnan(out.qkv_gradient[bad * 9 + e])) << "query " << bad;
      ASSERT_TRUE(std::isnan(out.qkv_gradient[e + 3])) << "key 0, under " << bad;
      ASSERT_EQ(std::isnan(out.qkv_gradient[e + 6]), e == bad % 3) << "value 0, under " << bad;
    }
  }
}

/// The chain rule of the reference against differences of its y, so that both are not wrong alike.
TEST(AttentionReference, its_gradient_is_the_slope) {
  Random random(18, 0);
  for (std::int64_t rule = 0; rule < 16; ++rule) {
    const Inputs in(with_rule({2, 5, 2, 3}, rule), random);
    const std::vector<double> start(in.qkv.begin(), in.qkv.end());
    const auto loss = [&](const std::vector<double>& qkv) {
      const Reference out = reference(in, qkv);
      double sum = 0.0;
      for (std::size_t i = 0; i < out.y.size(); ++i)
        sum += out.y[i].value * static_cast<double>(in.y_gradient[static_cast<std::int64_t>(i)]);
      return sum;
    };
    const Reference out = reference(in, start);
    for (std::size_t i = 0; i < start.size(); ++i) {
      std::vector<double> up = start, down = start;
      up[i] += 1e-5;
      down[i] -= 1e-5;
      ASSERT_NEAR((loss(up) - loss(down)) / 2e-5, out.qkv_gradient[i].value, 1e-8) << in.c << ' ' << i;
    }
  }
}

/// Angles of `sizes` as the kernel reads them.
struct Angles {
  Angles(const AttentionSizes& sizes, Random& random)
      : cosine(sizes.tokens * sizes.features, 1.0F), sine(sizes.tokens * sizes.features, 0.0F) {
    for (std::int64_t t = 0; t < sizes.tokens; ++t) {
      for (std::int64_t e = 0; e + 1 < sizes.features; e += 2) {
        const double angle = 6.28 * random.uniform();
        const std::int64_t place = t * sizes.features + e;
        cosine[place] = cosine[place + 1] = static_cast<float>(std::cos(angle));
        sine[place + 1] = static_cast<float>(std::sin(angle));
        sine[place] = -sine[place + 1];
      }
    }
  }
  Floats cosine, sine;
};

TEST_P(TurnPairsOfEverySet, turns_queries_and_keys_and_backwards_undoes_it) {
  Random random(19, 0);
  for (std::int64_t features = 1; features <= 40; ++features) {
    const AttentionSizes sizes = {2, between(random, 1, 9), between(random, 1, 3), features};
    const std::int64_t width = sizes.heads * features;
    const Angles angles(sizes, random);
    const Floats before = random_floats(random, sizes.sequences * sizes.tokens * 3 * width);
    Floats turned = copy_of(before);
    kernels->turn_pairs({sizes, turned.data(), angles.cosine.data(), angles.sine.data(), false});
    Floats back = copy_of(turned);
    kernels->turn_pairs({sizes, back.data(), angles.cosine.data(), angles.sine.data(), true});
    for (std::int64_t i = 0; i < before.size(); ++i) {
      const std::int64_t part = i % (3 * width) / width, e = i % features,
                         token = i / (3 * width) % sizes.tokens;
      const bool stays = part == 2 || (e == features - 1 && features % 2 == 1);
      if (stays) {
        ASSERT_EQ(turned[i], before[i]);
        ASSERT_EQ(back[i], before[i]);
        continue;
      }
      const std::int64_t first = i - e % 2;  // of its pair
      const auto x = static_cast<double>(before[first]), y = static_cast<double>(before[first + 1]);
      const auto c = static_cast<double>(angles.cosine[token * features + e]),
                 s = static_cast<double>(angles.sine[token * features + (e | 1)]);
      Sum sum;
      sum.add(e % 2 == 0 ? x * c : x * s);
      sum.add(e % 2 == 0 ? -y * s : y * c);
      ASSERT_TRUE(close(turned[i], sum)) << features << ' ' << i;
      ASSERT_TRUE(close(back[i], {static_cast<double>(before[i]), std::abs(x) + std::abs(y)}));
      if (e % 2 == 0) {
        ASSERT_TRUE(close(std::hypot(turned[i], turned[i + 1]), {std::hypot(x, y), std::hypot(x, y)}));
      }
    }
  }
}

}  // namespace
}  // namespace headtorch::kernels::test
