#include "train/signs.hpp"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/attention/masks.hpp"
#include "train/batch.hpp"
#include "train/checkpoint.hpp"
#include "train/entropy_bonus.hpp"
#include "train/leak_probe.hpp"
#include "train/record.hpp"
#include "train/signs_of_model.hpp"

namespace headtorch::train {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr models::ModelSizes kSizes{12, 12, 10};

models::ModelOptions options_of(models::Family family) {
  models::ModelOptions options{.family = family, .n_layers = 2, .n_heads = 2, .d_model = 16, .d_ff = 32};
  options.dropout = options.attention.attention_dropout = 0.2;
  return options;
}

models::MiniTransformer make_model(const models::ModelOptions& options) {
  torch::manual_seed(3);
  return models::MiniTransformer(options, kSizes);
}

torch::Tensor some_tokens(std::int64_t examples = 3) {
  return (torch::arange(examples * kSizes.max_len, torch::kLong) * 7 % kSizes.n_symbols)
      .view({examples, kSizes.max_len});
}

// --- leaks
// ---------------------------------------------------------------------------------------------------------

TEST(Leak, G04_a_causal_model_does_not_leak_in_any_form) {
  for (const double dropout : {0.0, 0.3}) {
    for (const nn::NormPlace norm : {nn::NormPlace::kPre, nn::NormPlace::kPost}) {
      models::ModelOptions options = options_of(models::Family::kCausal);
      options.dropout = options.attention.attention_dropout = dropout;  // 0: the fused path
      options.norm = norm;
      const LeakReport report =
          probe_leaks(make_model(options), some_tokens(), kSizes.n_symbols, LeakDepth::kThorough);
      EXPECT_FALSE(report.leaks()) << report.worst()->place << " " << report.worst()->form;
      EXPECT_TRUE(report.finite);
      for (const std::string place : {"layer 0 weights", "layer 1 heads", "layer 1 output", "logits"}) {
        for (const std::string mode : {"evaluation", "training"}) {
          const auto checks = std::count_if(
              report.checks.begin(), report.checks.end(),
              [&](const LeakCheck& check) { return check.place == place && check.mode == mode; });
          EXPECT_GE(checks, 1) << place << " " << mode;
        }
      }
    }
  }
}

/// Moves a share of the weight of layer 1, head 0, row 4 to key 7.
torch::Tensor leak_into(std::int64_t layer, const torch::Tensor& pattern_BHTT) {
  if (layer != 1) return pattern_BHTT;
  const torch::Tensor one = torch::zeros_like(pattern_BHTT.detach()[0][0]);
  one[4][7] = 1e-4;
  torch::Tensor edited_BHTT = pattern_BHTT.clone();
  edited_BHTT.select(1, 0).add_(one);
  return edited_BHTT;
}

TEST(Leak, G04_one_wrong_entry_is_found_in_every_form_and_place_behind_it) {
  const LeakReport report = probe_leaks(make_model(options_of(models::Family::kCausal)), some_tokens(),
                                        kSizes.n_symbols, LeakDepth::kThorough, leak_into);
  ASSERT_TRUE(report.leaks());
  for (const LeakCheck& check : report.checks) {
    const bool behind =
        check.place == "layer 1 heads" || check.place == "layer 1 output" || check.place == "logits";
    const bool mass = check.form.starts_with("mass") && check.place == "layer 1 weights";
    EXPECT_EQ(check.largest > 0.0, behind || mass) << check.place << " " << check.mode << " " << check.form;
    if (check.largest > 0.0) {
      EXPECT_EQ(check.query, 4) << check.place << " " << check.form;
    }
    if (mass) {
      EXPECT_EQ(check.key, 7);
      EXPECT_NEAR(check.largest, 1e-4, 1e-9);
    }
  }
  EXPECT_TRUE(probe_leaks(make_model(options_of(models::Family::kCausal)), some_tokens(), kSizes.n_symbols,
                          LeakDepth::kQuick, leak_into)
                  .leaks());
}

TEST(Leak, G04_an_encoder_may_look_ahead_and_what_is_not_finite_cannot_be_judged) {
  const LeakReport encoder = probe_leaks(make_model(options_of(models::Family::kEncoder)), some_tokens(),
                                         kSizes.n_symbols, LeakDepth::kThorough);
  EXPECT_TRUE(encoder.may_look_ahead);
  EXPECT_FALSE(encoder.leaks());
  EXPECT_EQ(encoder.worst(), nullptr);

  models::MiniTransformer broken = make_model(options_of(models::Family::kCausal));
  broken->named_parameters()["encoder.norm.weight"].data().fill_(std::numeric_limits<double>::quiet_NaN());
  const LeakReport report = probe_leaks(broken, some_tokens(), kSizes.n_symbols, LeakDepth::kThorough);
  EXPECT_FALSE(report.finite);
}

TEST(Leak, One_token_has_no_future_and_the_mode_stays) {
  models::MiniTransformer model = make_model(options_of(models::Family::kCausal));
  model->eval();
  EXPECT_FALSE(
      probe_leaks(model, torch::ones({1, 1}, torch::kLong), kSizes.n_symbols, LeakDepth::kThorough).leaks());
  EXPECT_FALSE(model->is_training());
}

// --- where a pass turns non-finite
// ---------------------------------------------------------------------------------

TEST(NonFinite, The_module_of_a_bad_parameter_is_named) {
  for (const nn::NormPlace norm : {nn::NormPlace::kPre, nn::NormPlace::kPost}) {
    for (const auto family : {models::Family::kEncoder, models::Family::kCausal}) {
      models::ModelOptions options = options_of(family);
      options.norm = norm;
      models::MiniTransformer model = make_model(options);
      EXPECT_EQ(first_non_finite(model, some_tokens()), "");
      for (auto& item : model->named_parameters()) {
        for (const double bad :
             {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
          const torch::Tensor before = item.value().detach().clone();
          item.value().data().fill_(bad);
          const std::string found = first_non_finite(model, some_tokens());
          item.value().data().copy_(before);
          EXPECT_FALSE(found.empty()) << item.key();
          EXPECT_THAT(item.key(), StartsWith(found + "."));
          const bool in_attention = item.key().find("in_proj") != std::string::npos;
          const bool in_feed_forward = item.key().find("feed_forward") != std::string::npos;
          if (!in_attention && !in_feed_forward) {
            EXPECT_EQ(found, item.key().substr(0, item.key().rfind('.')));
          }
        }
      }
    }
  }
}

TEST(NonFinite, One_bad_number_that_the_softmax_hides_is_named_all_the_same) {
  models::MiniTransformer model = make_model(options_of(models::Family::kEncoder));
  torch::Tensor weight = model->named_parameters()["encoder.layers.1.attention.in_proj_weight"];
  weight.data().view({-1})[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(first_non_finite(model, some_tokens()), "encoder.layers.1.attention");
}

// --- signs of a stored model
// ---------------------------------------------------------------------------------------

struct Stored {
  RunConfig config = {};
  std::unique_ptr<tasks::Task> task = {};
  std::string model = {};
};

Stored untrained(const std::string& name, double dropout, nn::Position position = nn::Position::kLearned) {
  Stored stored{.config = default_config(name)};
  stored.config.model.dropout = stored.config.model.attention.attention_dropout = dropout;
  stored.config.model.position = position;
  stored.config.train.steps = 1;
  stored.config.train.device = DeviceChoice::kCpu;
  stored.task = tasks::make_task(stored.config.task, 1);
  torch::manual_seed(1);
  models::MiniTransformer model(stored.config.model, sizes_for(stored.task->shape()));
  stored.model = to_safetensors(*model);
  return stored;
}

TEST(Signs, Dropout_drowns_the_signal_where_it_is_strong) {
  const auto correlation = [](double dropout) {
    const Stored run = untrained("reverse", dropout);
    return measure_signs(run.config, *run.task, run.model).dropout_correlation;
  };
  EXPECT_TRUE(std::isnan(correlation(0.0)));
  EXPECT_GT(correlation(0.1), 0.5);
  EXPECT_LT(correlation(0.9), 0.2);
}

TEST(Signs, Without_positions_the_permuted_input_gives_the_permuted_output) {
  const Stored blind = untrained("reverse", 0.0, nn::Position::kNone), sees = untrained("reverse", 0.0);
  EXPECT_LT(measure_signs(blind.config, *blind.task, blind.model).permutation_difference, 1e-4);
  EXPECT_GT(measure_signs(sees.config, *sees.task, sees.model).permutation_difference, 0.1);
  const Stored causal = untrained("induction", 0.0, nn::Position::kNone);
  EXPECT_TRUE(std::isnan(measure_signs(causal.config, *causal.task, causal.model).permutation_difference));
}

// What a run reports before its first step is what is made again from its seed.
TEST(Signs, Initial_health_is_that_of_the_run) {
  const Stored run = untrained("reverse", 0.1);
  std::optional<Health> told;
  RunObserver observer;
  observer.on_evaluation = [&](std::int64_t step, const Evaluation& evaluation, double) {
    if (step == 0) told = evaluation.health;
  };
  run_training(run.config, *run.task, observer);
  ASSERT_TRUE(told.has_value());
  const Health again = initial_health(run.config, *run.task);
  EXPECT_DOUBLE_EQ(again.score_sd, told->score_sd);
  EXPECT_DOUBLE_EQ(again.entropy_normalised, told->entropy_normalised);
  EXPECT_NEAR(again.qk_share, told->qk_share, 1e-5 * told->qk_share);
}

// --- the entropy bonus
// ---------------------------------------------------------------------------------------------

torch::Tensor every_key(const torch::Tensor& weights) { return torch::ones_like(weights, torch::kBool); }
torch::Tensor none_later(const torch::Tensor& weights) {
  return attention::causal_mask(weights.size(-2), weights.size(-1));
}

TEST(EntropyBonus, Is_normalised_by_what_a_row_may_see) {
  const torch::Tensor uniform = torch::full({2, 3, 4, 4}, 0.25, torch::kDouble);
  EXPECT_TRUE(
      torch::allclose(normalised_entropy(uniform, every_key(uniform)), torch::ones({2}, torch::kDouble)));
  const torch::Tensor causal =
      (torch::ones({4, 4}, torch::kDouble).tril() / torch::arange(1, 5, torch::kDouble).unsqueeze(1))
          .expand({2, 3, 4, 4});
  EXPECT_TRUE(
      torch::allclose(normalised_entropy(causal, none_later(causal)), torch::ones({2}, torch::kDouble)));
  const torch::Tensor one_hot = torch::eye(4, torch::kDouble).expand({2, 3, 4, 4});
  EXPECT_EQ(normalised_entropy(one_hot, every_key(one_hot)).sum().item<double>(), 0.0);
  EXPECT_EQ(normalised_entropy(torch::ones({2, 1, 1, 1}), none_later(torch::ones({2, 1, 1, 1})))
                .sum()
                .item<double>(),
            0.0);
}

TEST(EntropyBonus, The_gradient_is_the_numeric_one) {
  torch::manual_seed(5);
  for (const auto family : {models::Family::kEncoder, models::Family::kCausal}) {
    const torch::Tensor hidden = torch::ones({3, 3}, torch::kBool).triu(1);
    const auto entropy = [&](const torch::Tensor& scores) {
      const torch::Tensor seen = family == models::Family::kCausal
                                     ? scores.masked_fill(hidden, -std::numeric_limits<double>::infinity())
                                     : scores;
      return normalised_entropy(seen.softmax(-1),
                                family == models::Family::kCausal ? none_later(seen) : every_key(seen))
          .sum();
    };
    torch::Tensor scores = torch::randn({2, 2, 3, 3}, torch::kDouble).requires_grad_();
    const torch::Tensor gradient = torch::autograd::grad({entropy(scores)}, {scores})[0];
    for (std::int64_t i = 0; i < scores.numel(); ++i) {
      torch::Tensor up = scores.detach().clone(), down = up.clone();
      constexpr double kStep = 1e-5;
      up.view(-1)[i] += kStep;
      down.view(-1)[i] -= kStep;
      const double numeric = (entropy(up) - entropy(down)).item<double>() / (2.0 * kStep);
      EXPECT_NEAR(gradient.view(-1)[i].item<double>(), numeric, 1e-9);  // error of the difference: step^2
    }
  }
}

TEST(EntropyBonus, The_gradient_is_finite_where_weights_are_0) {
  const torch::Tensor scores =
      torch::tensor({{0.0F, 200.0F}, {-200.0F, 0.0F}}).view({1, 1, 2, 2}).requires_grad_();
  const torch::Tensor sum = normalised_entropy(scores.softmax(-1), every_key(scores)).sum();
  EXPECT_TRUE(torch::autograd::grad({sum}, {scores})[0].isfinite().all().item<bool>());
}

struct Told {
  std::vector<double> losses;
  std::string weights, path;
  double entropy = 0.0;
};

Told trained_with(double entropy_weight, std::int64_t threads = 1) {
  RunConfig config = default_config("induction");
  config.model.n_layers = 1;
  config.model.d_model = 16;
  config.train.steps = 15;
  config.train.batch = 12;
  config.train.threads = threads;
  config.train.device = DeviceChoice::kCpu;
  config.train.entropy_weight = entropy_weight;
  const auto task = tasks::make_task(config.task, 1);
  Told told;
  RunObserver observer;
  observer.on_step = [&](const StepMetrics& step) { told.losses.push_back(step.loss); };
  observer.on_attention = [&](const AttentionMaps& maps) {
    told.entropy = sharpness(maps).entropy_normalised;
  };
  observer.on_checkpoint = [&](std::int64_t, const std::map<std::string, std::string>& files) {
    told.weights = files.at("model.safetensors");
  };
  told.path = run_training(config, *task, observer).attention_path;
  return told;
}

TEST(EntropyBonus, T10_training_is_as_before_at_0_and_heads_are_flatter_with_it) {
  const Told off = trained_with(0.0), on = trained_with(1.0), on_three = trained_with(1.0, 3);
  EXPECT_EQ(off.path, "kernels");
  EXPECT_EQ(on.path, "explicit");
  EXPECT_GT(on.entropy, off.entropy + 0.01);
  // The loss told is the task's: before the first step both are the same, but for the path.
  EXPECT_NEAR(on.losses[0], off.losses[0], 1e-5);
  for (std::size_t i = 0; i < on.losses.size(); ++i) EXPECT_NEAR(on.losses[i], on_three.losses[i], 1e-4);
}

}  // namespace
}  // namespace headtorch::train
