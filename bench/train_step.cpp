// How long is one training step of the preset `reference`? Usage: bench_train_step THREADS STEPS
// Prints one JSON line: the median over steps, without the first tenth.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"
#include "src/tasks/task.hpp"
#include "train/run.hpp"
#include "train/settings/config.hpp"

namespace {

using namespace headtorch;

std::int64_t positive(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1) {
    throw UsageError("bench_train_step", fmt::format("'{}' is no number >= 1", text));
  }
  return value;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void measure(std::int64_t threads, std::int64_t steps) {
  train::RunConfig config = train::default_config("reverse");
  train::read_toml(train::preset_text("reference"), "reference", config);
  config.train.device = train::DeviceChoice::kCpu;
  config.train.threads = threads;
  config.train.steps = steps;

  const auto task = make_task(config);
  const double tokens = static_cast<double>(config.train.batch * task->shape().seq_len);
  std::vector<double> ms;
  double loss = 0.0;
  train::RunObserver observer;
  observer.on_step = [&](const train::StepMetrics& step) {
    if (step.step > steps / 10) ms.push_back(1e3 * tokens / step.tokens_per_second);
    loss = step.loss;
  };
  const train::RunResult result = train::run_training(config, *task, observer);
  fmt::print(
      R"({{"ms_per_step": {:.4f}, "steps": {}, "threads": {}, "parameters": {}, "last_loss": {:.4f}, "torch": "{}"}})"
      "\n",
      median(ms), steps, result.threads, result.parameters, loss, kLibTorchVersion);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw UsageError("bench_train_step", "expected THREADS STEPS");
    measure(positive(argv[1]), positive(argv[2]));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
