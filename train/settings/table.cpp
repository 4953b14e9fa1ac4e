#include <limits>

#include "train/settings/field.hpp"

namespace headtorch::train {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// `names` in the order of the enumeration.
template <typename Enum>
Choice choice(std::vector<std::string> names, Enum& (*at)(RunConfig&)) {
  return {std::move(names), [at](RunConfig& c) { return static_cast<std::size_t>(at(c)); },
          [at](RunConfig& c, std::size_t index) { at(c) = static_cast<Enum>(index); }};
}

template <std::size_t n>
std::vector<std::string> names_of(const std::string_view (&names)[n]) {
  return {std::begin(names), std::end(names)};
}

Real at_least_zero(double& (*at)(RunConfig&)) { return {at, 0.0, true, kNoLimit}; }
Real above_zero(double& (*at)(RunConfig&)) { return {at, 0.0, false, kNoLimit}; }
Real probability(double& (*at)(RunConfig&)) { return {at, 0.0, true, 1.0}; }

std::vector<nn::HeadKernelPlace>& head_kernels(RunConfig& c) { return c.model.head_kernels; }
double& attention_dropout(RunConfig& c) { return c.model.attention.attention_dropout; }

std::vector<Field> task_fields() {
  return {
      {"task", "name", "the task, see `headtorch tasks`",
       Text{[](RunConfig& c) -> std::string& { return c.task.name; }}},
      {"task", "file", "what to learn: a text (task text), or a CSV (series, table)",
       Text{[](RunConfig& c) -> std::string& { return c.task.file; }}},
      {"task", "seq_len", "tokens of an example; auto: the task's own",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.task.seq_len; }, 1, 4096, true}},
      {"task", "n_symbols", "different symbols; auto: the task's own, or those of the text",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.task.n_symbols; }, 2, 100'000, true}},
      {"task", "n_pairs", "pairs to recall, symbols to select; auto: the task's own (recall, mqar, select)",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.task.n_pairs; }, 1, 4096, true}},
      {"task", "digit_order", "of the sum: its last digit first, or as it is written (add)",
       choice<tasks::DigitOrder>(
           {"reversed", "plain"}, [](RunConfig & c) -> auto& { return c.task.digit_order; })},
      {"task", "operation", "of two numbers (modular)",
       choice<tasks::Operation>(
           {"add", "subtract", "multiply", "divide"},
           [](RunConfig & c) -> auto& { return c.task.operation; })},
      {"task", "column", "the column that is a series (series)",
       Text{[](RunConfig& c) -> std::string& { return c.task.column; }}},
      {"task", "lags", "values looked back at; auto: 12 (series)",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.task.lags; }, 1, 1024, true}},
      {"task", "horizon", "steps ahead of the last lag; auto: 1 (series)",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.task.horizon; }, 1, 10'000, true}},
      {"task", "attend", "what is attended over: the lags of a row, or the rows before it (series)",
       choice<tasks::Attend>(
           {"lags", "rows"}, [](RunConfig & c) -> auto& { return c.task.attend; })},
      {"task", "target", "the column to predict (table)",
       Text{[](RunConfig& c) -> std::string& { return c.task.target; }}},
      {"task", "leave_out", "columns that predict nothing, with commas between them (table)",
       Text{[](RunConfig& c) -> std::string& { return c.task.leave_out; }}},
      {"task", "missing", "rows with a missing value: an error, or left out (series, table)",
       choice<table::Missing>(
           {"refuse", "drop"}, [](RunConfig & c) -> auto& { return c.task.missing; })},
  };
}

std::vector<Field> model_fields() {
  using nn::Score;
  return {
      {"model", "family",
       "encoder: every token sees all; causal: only those before it; encoder-decoder: a source beside them",
       choice<models::Family>(
           {"encoder", "causal", "encoder-decoder"}, [](RunConfig & c) -> auto& { return c.model.family; })},
      {"model", "n_layers", "layers",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.model.n_layers; }, 1, 64}},
      {"model", "n_heads", "attention heads a layer; must divide d_model",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.model.n_heads; }, 1, 64}},
      {"model", "d_model", "features of a token",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.model.d_model; }, 1, 4096}},
      {"model", "d_ff", "width of the feed-forward; 0 leaves it out",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.model.d_ff; }, 0, 16'384}},
      {"model", "dropout",
       "on embeddings, residual branches, in the feed-forward, and on weights unless those have their own",
       Real{[](RunConfig& c) -> double& { return c.model.dropout; }, 0.0, true, 1.0, attention_dropout}},
      {"model", "attention_dropout", "on weights, after the softmax; as dropout unless given beside it",
       probability(attention_dropout)},
      {"model", "score_dropout", "hides keys at random before the softmax",
       probability([](RunConfig& c) -> double& { return c.model.attention.score_dropout; })},
      {"model", "position", "how a token knows where it stands",
       choice<nn::Position>(
           names_of(nn::kPositionNames), [](RunConfig & c) -> auto& { return c.model.position; })},
      {"model", "position_norm", "LayerNorm after embedding and position are summed",
       Boolean{[](RunConfig& c) -> bool& { return c.model.position_norm; }}},
      {"model", "norm", "LayerNorm before or after each branch",
       choice<nn::NormPlace>(
           {"pre", "post"}, [](RunConfig & c) -> auto& { return c.model.norm; })},
      {"model", "norm_kind", "layer: LayerNorm; rms: RMSNorm",
       choice<nn::NormKind>(
           {"layer", "rms"}, [](RunConfig & c) -> auto& { return c.model.norm_kind; })},
      {"model", "activation", "of the feed-forward",
       choice<nn::Activation>(
           {"gelu", "relu", "swiglu"}, [](RunConfig & c) -> auto& { return c.model.activation; })},
      {"model", "init", "initial weights",
       choice<nn::Init>(
           {"xavier", "he", "normal"}, [](RunConfig & c) -> auto& { return c.model.init; })},
      {"model", "qk_gain", "factor on the initial query and key weights",
       above_zero([](RunConfig& c) -> double& { return c.model.qk_gain; })},
      {"model", "score",
       "what decides where a head looks: learned ones up to linear and raw-dot, else a fixed kernel",
       choice<Score>(
           names_of(nn::kScoreNames), [](RunConfig & c) -> auto& { return c.model.attention.score; })},
      {"model", "scale",
       "factor on q.k (dot, cosine, linear): the score's own, one learned a head, or a number",
       ScaleFactor{[](RunConfig& c) -> nn::Scale& { return c.model.attention.scale; }}},
      {"model", "qk_norm", "RMSNorm of each head's queries and keys",
       Boolean{[](RunConfig& c) -> bool& { return c.model.attention.qk_norm; }}},
      {"model", "window", "self-attention sees keys at most this far off; 0: every distance",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.model.window; }, 0, kMany}},
      {"model", "hide_token", "tokens that are never seen as keys, as heatmap --input writes them",
       Text{[](RunConfig& c) -> std::string& { return c.hide_token; }}},
      {"model", "output_weight", "of the last layer: its own, or the embedding's (tied)",
       choice<models::OutputWeight>(
           {"own", "embedding"}, [](RunConfig & c) -> auto& { return c.model.output_weight; })},
      {"model", "bandwidth", "of a fixed kernel, one value or one a head",
       RealList{[](RunConfig& c) -> std::vector<double>& { return c.model.attention.bandwidth; }, 0.0}},
      {"model", "kernel_slope", "a of a kernel centred at key a i + b: 1 relative, -1 mirrored, 0 absolute",
       RealList{[](RunConfig& c) -> std::vector<double>& { return c.model.attention.kernel_slope; },
                -kNoLimit}},
      {"model", "kernel_offset", "b of a kernel centred at key a i + b",
       RealList{[](RunConfig& c) -> std::vector<double>& { return c.model.attention.kernel_offset; },
                -kNoLimit}},
      {"model", "head_kernels", "heads replaced by fixed kernels; the rest of the model stays the same",
       KernelList{head_kernels}},
  };
}

std::vector<Field> train_fields() {
  return {
      {"train", "steps", "optimizer steps",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.steps; }, 1, kMany}},
      {"train", "batch", "examples of a batch",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.batch; }, 1, 65'536}},
      {"train", "accumulate", "batches summed into one step",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.accumulate; }, 1, 1024}},
      {"train", "lr", "peak learning rate", above_zero([](RunConfig& c) -> double& { return c.train.lr; })},
      {"train", "min_lr", "rate at the end of the schedule",
       at_least_zero([](RunConfig& c) -> double& { return c.train.min_lr; })},
      {"train", "warmup", "steps in which the rate rises",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.warmup; }, 0, kMany}},
      {"train", "schedule", "of the rate after the warmup",
       choice<Schedule>(
           {"cosine", "linear", "inverse-sqrt", "wsd", "constant"},
           [](RunConfig & c) -> auto& { return c.train.schedule; })},
      {"train", "clip", "largest norm of the gradient; 0: off",
       at_least_zero([](RunConfig& c) -> double& { return c.train.clip; })},
      {"train", "entropy_weight",
       "rewards heads for entropy, against collapse: the loss less this times its mean; 0: off",
       at_least_zero([](RunConfig& c) -> double& { return c.train.entropy_weight; })},
      {"train", "label_smoothing", "share of each label given to all classes alike",
       probability([](RunConfig& c) -> double& { return c.train.label_smoothing; })},
      {"train", "weight_decay", "of AdamW, not on biases and norms",
       at_least_zero([](RunConfig& c) -> double& { return c.train.weight_decay; })},
      {"train", "beta2", "of AdamW", probability([](RunConfig& c) -> double& { return c.train.beta2; })},
      {"train", "patience", "evaluations without a better validation loss before training stops; 0: never",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.patience; }, 0, kMany}},
      {"train", "seed", "decides data, initial weights and dropout",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.seed; }, 0, std::int64_t{1} << 53}},
      {"train", "device", "where to compute; auto: a GPU when there is one",
       choice<DeviceChoice>(
           {"auto", "cpu", "cuda"}, [](RunConfig & c) -> auto& { return c.train.device; })},
      {"train", "precision", "of matrix products; weights, softmax and norms stay in float32",
       choice<Precision>(
           {"float32", "bfloat16", "float16"}, [](RunConfig & c) -> auto& { return c.train.precision; })},
      {"train", "engine",
       "auto: own kernels for the models that they know; modules: torch::nn modules always",
       choice<EngineChoice>(
           {"auto", "modules"}, [](RunConfig & c) -> auto& { return c.train.engine; })},
      {"train", "recompute", "layers compute what backward needs again: less memory, more time",
       Boolean{[](RunConfig& c) -> bool& { return c.train.recompute; }}},
      {"train", "eval_lengths", "sequence lengths at which the trained model is tested besides its own",
       IntegerList{[](RunConfig& c) -> std::vector<std::int64_t>& { return c.train.eval_lengths; }, 1, 4096}},
      {"train", "threads", "parts of a batch worked on side by side",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.threads; }, 1, 256, true}},
      {"train", "eval_every", "steps between evaluations; 0: at the end only",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.eval_every; }, 0, kMany}},
      {"train", "heatmap_every", "steps between heatmaps; 0: at the end only",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.heatmap_every; }, 0, kMany}},
      {"train", "checkpoint_every", "steps between checkpoints; 0: at the end only",
       Integer{[](RunConfig& c) -> std::int64_t& { return c.train.checkpoint_every; }, 0, kMany}},
  };
}

std::vector<Field> all_fields() {
  std::vector<Field> all = task_fields();
  for (auto& field : model_fields()) all.push_back(std::move(field));
  for (auto& field : train_fields()) all.push_back(std::move(field));
  return all;
}

}  // namespace

std::span<const Field> fields() {
  static const std::vector<Field> table = all_fields();
  return table;
}

}  // namespace headtorch::train
