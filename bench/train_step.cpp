// How long is one training step? Usage: bench_train_step PRESET THREADS STEPS [--engine auto|modules]
// [--precision float32|bfloat16] [--dropout P] [--busy]. PRESET is a built-in one or `middle`; text-small
// reads a text made here. --busy keeps one core busy with another process. Prints one JSON line: median and
// least over steps, without the first tenth.

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "headtorch_version.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/tasks/task.hpp"
#include "train/memory.hpp"
#include "train/run.hpp"
#include "train/settings/config.hpp"

namespace {

using namespace headtorch;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kWhere = "bench_train_step", kMiddle = "middle";

/// Another process that spins for as long as this lives.
class Spinner {
 public:
  Spinner() : process_(::fork()) {
    if (process_ < 0) throw InputOutputError(kWhere, "cannot start a process that spins");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
  ~Spinner() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

 private:
  pid_t process_;
};

/// A task whose test is one batch: what a run does after its last step is not measured.
class ShortTest final : public tasks::Task {
 public:
  ShortTest(std::unique_ptr<tasks::Task> task, std::int64_t n_test)
      : task_(std::move(task)), n_test_(n_test) {}

  const tasks::TaskShape& shape() const override { return task_->shape(); }
  tasks::Batch batch(tasks::Split split, std::int64_t first, std::int64_t count) const override {
    return task_->batch(split, first, count);
  }
  std::int64_t size(tasks::Split split) const override {
    const std::int64_t all = task_->size(split);
    return split == tasks::Split::kTest ? std::min(all, n_test_) : all;
  }
  std::string token_text(std::int64_t token) const override { return task_->token_text(token); }
  std::vector<std::int64_t> parse_tokens(std::string_view input) const override {
    return task_->parse_tokens(input);
  }

 private:
  std::unique_ptr<tasks::Task> task_;
  std::int64_t n_test_;
};

/// Random words over a space and 64 other characters, as long as tinyshakespeare, with as many symbols.
std::string words() {
  constexpr std::size_t kCharacters = 1'115'394;
  std::mt19937 random(1);
  std::string text;
  while (text.size() < kCharacters) {
    for (auto letters = 1 + random() % 9; letters > 0; --letters)
      text += static_cast<char>('!' + random() % 64);
    text += ' ';
  }
  text.resize(kCharacters);
  return text;
}

/// @throws UsageError for an unknown preset.
train::RunConfig config_of(std::string_view preset) {
  const std::string_view text = train::preset_text(preset == kMiddle ? "reference" : preset);
  train::RunConfig named;
  train::read_toml(text, preset, named);
  train::RunConfig config = train::default_config(named.task.name.empty() ? "reverse" : named.task.name);
  train::read_toml(text, preset, config);
  config.train.device = train::DeviceChoice::kCpu;
  if (preset == kMiddle) {
    config.task.seq_len = 128;
    config.model.n_layers = 4;
    config.model.n_heads = 8;
    config.model.d_model = 256;
    config.model.d_ff = 1024;
    config.train.batch = 16;
  }
  return config;
}

std::unique_ptr<tasks::Task> task_of(train::RunConfig& config) {
  if (config.task.name != "text") return train::make_task(config);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("headtorch-bench-{}", ::getpid());
  make_folder(folder);
  config.task.file = (folder / "words.txt").string();
  write_file(config.task.file, words());
  auto task = train::make_task(config);
  std::filesystem::remove_all(folder);
  return task;
}

struct Request {
  train::RunConfig config;
  std::string preset;
  bool is_busy = false;
};

Request read_arguments(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3) throw UsageError(kWhere, "expected PRESET THREADS STEPS");
  Request request{config_of(arguments[0]), arguments[0]};
  train::set_flag("threads", arguments[1], request.config);
  train::set_flag("steps", arguments[2], request.config);
  if (request.config.train.steps < 2) throw UsageError(kWhere, "STEPS is 1, expected at least 2");
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--busy") {
      request.is_busy = true;
      continue;
    }
    if (flag != "--engine" && flag != "--precision" && flag != "--dropout")
      throw UsageError(kWhere, fmt::format("{} is unknown", flag));
    if (++i == arguments.size()) throw UsageError(kWhere, fmt::format("{} has no value", flag));
    train::set_flag(flag.substr(2), arguments[i], request.config);
    if (flag == "--dropout") train::set_flag("attention_dropout", arguments[i], request.config);
  }
  train::check(request.config);
  return request;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void measure(Request request) {
  train::RunConfig& config = request.config;
  std::optional<Spinner> spinner;
  if (request.is_busy) spinner.emplace();
  const ShortTest task(task_of(config), config.train.batch);

  const std::int64_t first = std::max<std::int64_t>(1, config.train.steps / 10);
  std::vector<double> ms;
  double loss = 0.0, peak_mib = 0.0;
  Clock::time_point last;
  train::RunObserver observer;
  observer.on_step = [&](const train::StepMetrics& step) {
    const Clock::time_point now = Clock::now();
    if (step.step > first) ms.push_back(std::chrono::duration<double, std::milli>(now - last).count());
    loss = step.loss;
    peak_mib = train::peak_bytes() / (1 << 20);
    last = Clock::now();
  };
  const train::RunResult result = train::run_training(config, task, observer);
  fmt::print(R"({{"preset": "{}", "ms_per_step": {:.4f}, "min_ms": {:.4f}, "steps": {}, "threads": {},)"
             R"( "parameters": {}, "last_loss": {:.4f}, "engine": "{}", "peak_mib": {:.1f}, "torch": "{}"}})"
             "\n",
             request.preset, median(ms), *std::min_element(ms.begin(), ms.end()), config.train.steps,
             result.threads, result.parameters, loss, result.engine, peak_mib, kLibTorchVersion);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(read_arguments({argv + 1, argv + argc}));
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
