#include "train/memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <torch/torch.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <string_view>
#include <vector>

#include "src/core/error.hpp"
#include "src/nn/path.hpp"
#include "train/engine_for.hpp"
#include "train/replicas.hpp"

namespace headtorch::train {
namespace {

constexpr double kFloat = 4.0, kMebibyte = 1024.0 * 1024.0;
constexpr double kProgram = 250.0 * kMebibyte;  // LibTorch's libraries and the allocator's slack

double number(std::int64_t value) { return static_cast<double>(value); }

double physical_bytes() { return number(sysconf(_SC_PHYS_PAGES)) * number(sysconf(_SC_PAGE_SIZE)); }

/// One attention matrix of a model: how many of them, and their sizes.
struct Attention {
  double count = 0.0, queries = 0.0, keys = 0.0;
  bool is_self = true;
};

std::vector<Attention> attentions(const models::ModelOptions& model, const tasks::TaskShape& shape) {
  const double layers = number(model.n_layers), target = number(shape.seq_len),
               source = number(shape.source.seq_len);
  if (model.family != models::Family::kEncoderDecoder) return {{layers, target, target}};
  return {{layers, source, source}, {layers, target, target}, {layers, target, source, false}};
}

/// Whether a training pass of so many examples writes the weights out.
bool is_written_out(const models::ModelOptions& model, const Attention& of, double examples) {
  const nn::ScoreOptions& score = model.attention;
  nn::PathFacts facts;
  facts.has_head_kernels = !model.head_kernels.empty();
  facts.drops = score.attention_dropout > 0.0 || score.score_dropout > 0.0;
  facts.is_biased = of.is_self && nn::acts(model.position) == nn::Acts::kBias;
  facts.is_scaled_dot = score.score == nn::Score::kDot && score.scale.kind != nn::ScaleKind::kLearned;
  if (of.is_self && model.window > 0) facts.window = model.window;
  facts.sums_keys = score.score == nn::Score::kLinear && !facts.window;
  facts.rows = std::llround(examples * number(model.n_heads) * of.queries);
  facts.keys = std::llround(of.keys);
  return nn::choose_path(facts) == nn::Path::kExplicit;
}

double parameters(const models::ModelOptions& model, const tasks::TaskShape& shape) {
  const double d = number(model.d_model), ff = number(model.d_ff), layers = number(model.n_layers);
  const double attention = (nn::is_learned(model.attention.score) ? 4.0 : 2.0) * d * d;
  const double feed_forward = (model.activation == nn::Activation::kSwiglu ? 3.0 : 2.0) * d * ff;
  const bool pair = model.family == models::Family::kEncoderDecoder;
  const double stacks = pair ? 3.0 * attention + 2.0 * feed_forward : attention + feed_forward;
  const double vocabulary =
      number(shape.n_symbols + shape.source.n_symbols) +
      (model.output_weight == models::OutputWeight::kOwn ? number(shape.n_classes) : 0.0);
  return layers * stacks + d * vocabulary;
}

double bytes_through_engine(const RunConfig& config, const tasks::TaskShape& shape) {
  constexpr double kProgramAlone = 155.0 * kMebibyte;  // few of LibTorch's pages are touched
  constexpr double kRecorded = 8.0;                    // examples whose weights the modules give
  const models::ModelOptions& model = config.model;
  const double weights = parameters(model, shape);
  const auto replicas =
      number(choose_threads(config.train, std::llround(weights), config.train.batch * shape.seq_len));
  const engine::Sizes sizes{model.n_layers,  model.d_model,   model.n_heads, model.d_ff,
                            shape.n_symbols, shape.n_classes, shape.seq_len, shape.n_features};
  // A weight, two moments, a gradient a replica, and the weights as products read them, forward and backward.
  const double recorded = kRecorded * number(shape.seq_len) * 2.0 * number(shape.n_classes);
  return kProgramAlone + kFloat * ((5.0 + replicas) * weights + recorded) +
         replicas * engine::share_bytes(sizes);
}

}  // namespace

double estimated_bytes(const RunConfig& config, const tasks::TaskShape& shape) {
  const models::ModelOptions& model = config.model;
  if (config.train.device != DeviceChoice::kCuda && why_modules(config, shape, torch::kCPU).empty())
    return bytes_through_engine(config, shape);
  const double d = number(model.d_model), batch = number(config.train.batch);
  const double ff = number(model.d_ff) * (model.activation == nn::Activation::kSwiglu ? 2.0 : 1.0);
  const std::int64_t replicas = choose_threads(config.train, std::llround(parameters(model, shape)),
                                               config.train.batch * shape.seq_len);
  const double share = batch / number(replicas);

  // A layer keeps q, k, v, the heads, two norms, two branches and their masks; the feed-forward its input,
  // activation and mask; attention that is written out its scores, weights, mask and dropped weights.
  double kept = 0.0, largest = 0.0, handed_on = 0.0;
  for (const Attention& of : attentions(model, shape)) {
    const double tokens = batch * of.queries;
    double layer = tokens * (12.0 * d + (of.is_self ? 3.0 * ff : 0.0));
    if (is_written_out(model, of, share)) {
      const bool drops = model.attention.attention_dropout > 0.0 || model.attention.score_dropout > 0.0;
      layer += (drops ? 4.0 : 2.0) * batch * number(model.n_heads) * of.queries * of.keys;
    }
    kept += of.count * layer;
    handed_on += of.count * tokens * d;
    largest = std::max(largest, layer);
  }
  if (config.train.recompute) kept = handed_on + largest;
  // Products keep half as much of what they read; norms, weights and residuals stay wide.
  if (config.train.precision != Precision::kFloat32) kept *= 0.75;
  const double logits = 3.0 * batch * number(shape.seq_len) * number(shape.n_classes);
  // A weight, two moments, the sum of gradients, and a gradient a replica, twice while it is made.
  return kProgram + kFloat * ((4.0 + 2.0 * number(replicas)) * parameters(model, shape) + kept + logits);
}

std::string memory_advice(const RunConfig& config, const tasks::TaskShape& shape) {
  std::vector<std::string> ways;
  const auto offer = [&](const std::string& flags, const RunConfig& changed, const tasks::TaskShape& of) {
    const double bytes = estimated_bytes(changed, of);
    if (bytes < estimated_bytes(config, shape))
      ways.push_back(fmt::format("{} ({:.0f} MiB)", flags, bytes / kMebibyte));
  };
  RunConfig other = config;
  if (shape.source.seq_len == 0 && shape.seq_len > 1) {
    tasks::TaskShape shorter = shape;
    shorter.seq_len /= 2;
    offer(fmt::format("--seq-len {}", shorter.seq_len), config, shorter);
  }
  if (config.model.d_model % (2 * config.model.n_heads) == 0) {
    other.model.d_model /= 2;
    offer(fmt::format("--d-model {}", other.model.d_model), other, shape);
  }
  if (config.train.batch % 2 == 0) {
    other = config;
    other.train.batch /= 2;
    other.train.accumulate *= 2;
    offer(fmt::format("--batch {} --accumulate {}", other.train.batch, other.train.accumulate), other, shape);
  }
  other = config;
  other.train.recompute = true;
  offer("--recompute", other, shape);
  if (config.model.window == 0 && shape.seq_len >= 512) {
    other = config;
    other.model.window = shape.seq_len / 16;
    offer(fmt::format("--window {}", other.model.window), other, shape);
  }
  other = config;
  other.train.precision = Precision::kBfloat16;
  offer("--precision bfloat16", other, shape);
  return fmt::format("each alone: {}", fmt::join(ways, ", "));
}

double peak_bytes() {
  rusage usage{};
  constexpr double kKibibyte = 1024.0;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? number(usage.ru_maxrss) * kKibibyte : 0.0;
}

RunResult with_memory_advice(const RunConfig& config, const tasks::TaskShape& shape,
                             const std::function<RunResult()>& work) {
  const auto out_of_memory = [&] {
    return Error(
        ExitCode::kOutOfMemory, "train",
        fmt::format(
            "out of memory: this run needs about {:.0f} MiB and the machine has {:.0f}; to need less: {}",
            estimated_bytes(config, shape) / kMebibyte, physical_bytes() / kMebibyte,
            memory_advice(config, shape)));
  };
  // The kernel kills a process that touches more than there is, so what cannot fit is refused before it
  // starts.
  if (config.train.device != DeviceChoice::kCuda && estimated_bytes(config, shape) > physical_bytes())
    throw out_of_memory();
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw out_of_memory();
  } catch (const c10::OutOfMemoryError&) {
    throw out_of_memory();
  } catch (const c10::Error& error) {
    // The CPU allocator reports a failed allocation as a plain error.
    if (std::string_view(error.what()).find("allocate memory") != std::string_view::npos)
      throw out_of_memory();
    throw;
  }
}

}  // namespace headtorch::train
