#include "src/tasks/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/core/error.hpp"
#include "src/tasks/symbol_task.hpp"
#include "src/tasks/text_task.hpp"

namespace headtorch::tasks {
namespace {

struct SymbolEntry {
  const char* name;
  const char* summary;
  SymbolRule (*rule)(const TaskOptions& options);
};

constexpr SymbolEntry kSymbolTasks[] = {
    {"reverse", "the sequence backwards", reverse_rule},
    {"copy", "each symbol three places later", copy_rule},
    {"sort", "the symbols in ascending order", sort_rule},
    {"histogram", "how often each symbol occurs in the sequence", histogram_rule},
    {"induction", "the next symbol of a sequence that repeats with a random period", induction_rule},
};
constexpr const char* kTextSummary = "the next character of a text of your own, --file FILE";

}  // namespace

std::string Task::source_token_text(std::int64_t) const {
  throw DataError("task", fmt::format("{} has no source", shape().name));
}

std::vector<std::int64_t> Task::parse_source(std::string_view) const {
  throw DataError("input", fmt::format("the task {} has no source, expected tokens alone", shape().name));
}

std::vector<TaskDescription> describe_tasks() {
  std::vector<TaskDescription> descriptions;
  for (const SymbolEntry& entry : kSymbolTasks) {
    const SymbolRule rule = entry.rule({});
    descriptions.push_back({entry.name, entry.summary, rule.shape.n_symbols, rule.shape.seq_len, rule.n_test,
                            rule.shape.reading});
  }
  descriptions.push_back({"text", kTextSummary, 0, 64, 0, Reading::kLeftToRight});
  return descriptions;
}

std::unique_ptr<Task> make_task(const TaskOptions& options, std::uint64_t seed) {
  if (options.name == "text") return std::make_unique<TextTask>(options, seed);
  for (const SymbolEntry& entry : kSymbolTasks) {
    if (options.name != entry.name) continue;
    if (!options.file.empty()) {
      throw ConfigError("task", fmt::format("file = \"{}\": only text reads a file, {} does not",
                                            options.file, entry.name));
    }
    return std::make_unique<SymbolTask>(entry.rule(options), seed);
  }
  std::vector<std::string> names;
  for (const TaskDescription& description : describe_tasks()) names.push_back(description.name);
  throw UsageError(
      "task", fmt::format("\"{}\" is not a task: expected one of {}", options.name, fmt::join(names, ", ")));
}

}  // namespace headtorch::tasks
