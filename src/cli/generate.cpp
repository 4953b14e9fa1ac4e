#include "train/generate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "src/cli/documents.hpp"
#include "src/cli/numbers.hpp"
#include "src/cli/output.hpp"
#include "src/cli/stored_run.hpp"
#include "src/cli/verbs.hpp"
#include "src/core/interrupt.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kMostTokens = 1'000'000, kMostSamples = 1000;
constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;

struct GenerateFlags {
  std::string run, step, prompt, max_new, temperature, top_k, top_p, samples, seed;
  CLI::Option* has_prompt = nullptr;
  bool json = false;
};

/// Prints the first sample as it comes, and keeps the others until it is done.
class Stream {
 public:
  Stream(std::string prompt, std::int64_t samples) : prompt_(std::move(prompt)), samples_(samples) {}

  void add(std::int64_t sample, std::string_view text) {
    if (sample > 0) return;
    if (!std::exchange(started_, true)) print(heading(0) + prompt_);
    print(text);
  }

  /// Nothing comes any more.  @param between stands between a prompt and what follows.
  void finish(const std::vector<train::GeneratedText>& samples, std::string_view between) const {
    if (started_) print("\n");
    if (interrupt_signal() != 0) return;
    for (std::size_t sample = 1; sample < samples.size(); ++sample)
      print(fmt::format("{}{}{}{}\n", heading(sample), prompt_, between, samples[sample].text));
  }

 private:
  std::string heading(std::size_t sample) const {
    return samples_ == 1 ? "" : fmt::format("--- {} of {}\n", sample + 1, samples_);
  }

  std::string prompt_;
  std::int64_t samples_;
  bool started_ = false;
};

train::TextRequest request_of(const GenerateFlags& flags, const tasks::Task& task) {
  const auto given = [](std::string_view flag, const std::string& text, std::int64_t most) {
    return text.empty() ? 1 : whole_number(flag, text, 1, most);
  };
  train::TextRequest request;
  if (!flags.max_new.empty())
    request.max_new_tokens = whole_number("--max-new", flags.max_new, 1, kMostTokens);
  request.samples = given("--samples", flags.samples, kMostSamples);
  request.seed = static_cast<std::uint64_t>(
      flags.seed.empty() ? 1 : whole_number("--seed", flags.seed, 0, kLargestSeed));
  request.sampling = train::usual_sampling(task);
  if (!flags.temperature.empty())
    request.sampling.temperature = real_number("--temperature", flags.temperature);
  if (!flags.top_k.empty()) request.sampling.top_k = given("--top-k", flags.top_k, kMostTokens);
  if (!flags.top_p.empty()) request.sampling.top_p = real_number("--top-p", flags.top_p);
  models::check(request.sampling);
  return request;
}

train::Ending ending() {
  if (interrupt_signal() == 0) return train::Ending::kComplete;
  return exit_code_of(interrupt_signal()) == ExitCode::kTerminated ? train::Ending::kTerminated
                                                                   : train::Ending::kInterrupted;
}

nlohmann::ordered_json document_of(const StoredRun& run, const train::TextRequest& request,
                                   const std::vector<train::GeneratedText>& samples) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const train::GeneratedText& sample : samples) {
    list.push_back(
        {{"text", sample.text}, {"tokens", sample.tokens}, {"log_probability", sample.log_probability}});
  }
  const models::SamplingOptions& sampling = request.sampling;
  const auto top_k = sampling.top_k ? nlohmann::ordered_json(*sampling.top_k) : nlohmann::ordered_json();
  return {{"run", run.folder.path().string()},
          {"step", run.step},
          {"prompt", request.prompt},
          {"temperature", sampling.temperature},
          {"top_k", top_k},
          {"top_p", sampling.top_p},
          {"seed", request.seed},
          {"ending", ending_name(ending())},
          {"samples", list}};
}

ExitCode generate_from_run(const GenerateFlags& flags) {
  const StoredRun run = load_run(flags.run, flags.step);
  const tasks::Task& task = *run.task;
  const bool answers = task.shape().source.seq_len > 0;
  train::TextRequest request = request_of(flags, task);
  if (*flags.has_prompt) {
    request.prompt = flags.prompt;
  } else if (answers) {
    throw UsageError("--prompt", fmt::format("is not given, expected the source that the run answers; {} "
                                             "tasks {} --sample 1 shows one",
                                             command_name(), task.shape().name));
  } else {
    request.prompt = tasks::typed(task, task.first_prompt());
  }
  const std::string_view between = task.spelling() == tasks::Spelling::kWords && !answers ? " " : "";
  Stream stream(answers ? "" : request.prompt, request.samples);
  if (!flags.json)
    request.on_text = [&](std::int64_t sample, std::string_view text) { stream.add(sample, text); };
  catch_interrupts();
  const std::vector<train::GeneratedText> samples =
      train::generate_text(run.config, task, run.model, request);
  if (flags.json) {
    print_json(document_of(run, request, samples));
  } else {
    stream.finish(samples, between);
  }
  const int signal = interrupt_signal();
  return signal == 0 ? ExitCode::kDone : exit_code_of(signal);
}

}  // namespace

void add_generate(CLI::App& program, Action& action) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* verb = program.add_subcommand("generate", "Continue a text or a sequence, or answer a source");
  verb->add_option("RUN", flags->run, "Folder of a run, or its name under runs/")->required()->type_name("");
  flags->has_prompt =
      verb->add_option("--prompt", flags->prompt,
                       "What to continue: a text, or tokens such as \"3 1 4\" (a line break; the first "
                       "validation example); for an encoder-decoder its source")
          ->type_name("TEXT");
  verb->add_option("--max-new", flags->max_new, "New tokens (200 of a text, else to the end of the context)")
      ->type_name("N");
  verb->add_option("--temperature", flags->temperature,
                   "Above 1 more even, below 1 sharper; 0: the most probable (1 for a text, else 0)")
      ->type_name("T");
  verb->add_option("--top-k", flags->top_k, "Only the K most probable tokens (all)")->type_name("K");
  verb->add_option("--top-p", flags->top_p, "Only the fewest that together have this probability (1)")
      ->type_name("P");
  verb->add_option("--samples", flags->samples, "How many (1)")->type_name("N");
  verb->add_option("--seed", flags->seed, "Decides what is drawn (1)")->type_name("S");
  verb->add_option("--step", flags->step, "The model after which training step (the last)")->type_name("S");
  verb->add_flag("--json", flags->json, "One JSON document on standard output");
  verb->footer(
      fmt::format("Examples:\n  {0} generate text-001 --prompt \"The \" --temperature 0.8\n"
                  "  {0} generate induction-001 --prompt \"3 1 4 1 5 9 3 1\" --max-new 4\n"
                  "  {0} generate dates-001 --prompt \"3 May 1975\"",
                  command_name()));
  verb->callback([flags, &action] { action = [flags] { return generate_from_run(*flags); }; });
}

}  // namespace headtorch::cli
