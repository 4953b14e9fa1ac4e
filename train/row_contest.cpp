#include "train/row_contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/tasks/series_rows.hpp"
#include "src/tasks/table_rows.hpp"
#include "train/replicas.hpp"
#include "train/row_references.hpp"
#include "train/side_by_side.hpp"
#include "train/trainings.hpp"

namespace headtorch::train {
namespace {

using tasks::Attend;

bool reads_rows(const RunConfig& form) {
  return form.task.name == "table" || form.task.attend == Attend::kRows;
}

double number_in(const std::string& choice) {
  double number = 0.0;
  const std::size_t digit = choice.find_first_of("0123456789");
  if (digit != std::string::npos)
    std::from_chars(choice.data() + digit, choice.data() + choice.size(), number);
  return number;
}

/// "k nearest, k 3 to k 5": the range of what the splits chose.
std::string name_with(const std::string& name, std::vector<std::string> choices) {
  std::erase(choices, "");
  if (choices.empty()) return name;
  const auto [least, most] = std::minmax_element(
      choices.begin(), choices.end(),
      [](const std::string& a, const std::string& b) { return number_in(a) < number_in(b); });
  return *least == *most ? fmt::format("{}, {}", name, *least)
                         : fmt::format("{}, {} to {}", name, *least, *most);
}

void add_in_form(std::vector<Candidate>& all, std::vector<Candidate> made, const RunConfig& form,
                 const RunConfig& config) {
  const bool is_series = config.task.name == "series";
  for (Candidate& candidate : made) {
    if (form.task.attend != config.task.attend) candidate.form = form;
    if (is_series && candidate.row.kind != probe::RowKind::kNoMixing)
      candidate.row.name += reads_rows(form) ? ", over rows" : ", over lags";
    all.push_back(std::move(candidate));
  }
}

}  // namespace

bool is_of_rows(std::string_view task) { return task == "table" || task == "series"; }

std::vector<RunConfig> forms_of(const RunConfig& config) {
  std::vector<RunConfig> forms = {config};
  if (config.task.name != "series") return forms;
  const bool other_is_rows = config.task.attend == Attend::kLags;
  RunConfig preset = config;
  const std::string_view name = other_is_rows ? "series-rows" : "series";
  read_toml(preset_text(name), name, preset);
  RunConfig other = config;
  other.model = preset.model;
  other.model.dropout = config.model.dropout;
  other.model.attention.attention_dropout = config.model.attention.attention_dropout;
  other.hide_token = preset.hide_token;
  other.train.batch = other_is_rows ? std::min(preset.train.batch, config.train.batch) : preset.train.batch;
  other.task.attend = other_is_rows ? Attend::kRows : Attend::kLags;
  other.task.seq_len = 0;
  forms.push_back(std::move(other));
  return forms;
}

tasks::Rows rows_of(const tasks::TaskOptions& task, std::uint64_t seed) {
  return task.name == "table" ? tasks::table_rows(task, seed).rows : tasks::series_rows(task).rows;
}

std::vector<Candidate> row_candidates(const RunConfig& config, const ComparisonOptions& options) {
  std::vector<Candidate> all;
  std::vector<RunConfig> forms = forms_of(config);
  std::stable_partition(forms.begin(), forms.end(), reads_rows);
  for (const RunConfig& form : forms) {
    const auto add = [&](std::vector<Candidate> made) { add_in_form(all, std::move(made), form, config); };
    if (reads_rows(form)) {
      add({no_mixing_candidate(form)});
      add(row_kernels(form, options.bandwidths));
    }
    if (options.rows == Rows::kFixedOnly) continue;
    if (reads_rows(form)) add({raw_dot_candidate(form)});
    add(learned_candidates(form));
  }
  return all;
}

std::vector<Candidate> lag_kernels(const RunConfig& config, const tasks::TaskShape& shape,
                                   const std::vector<double>& bandwidths) {
  std::vector<Candidate> all;
  if (config.task.name != "series") return all;
  for (const RunConfig& form : forms_of(config)) {
    if (!reads_rows(form)) add_in_form(all, kernel_grid(form, shape, bandwidths), form, config);
  }
  return all;
}

std::vector<probe::ComparisonRow> reference_rows(const RunConfig& config, const ComparisonOptions& options) {
  std::vector<std::vector<RowReference>> splits(static_cast<std::size_t>(options.n_seeds));
  const std::int64_t n_threads = config.train.threads > 0 ? config.train.threads : usable_cores();
  run_side_by_side(options.n_seeds, n_threads, [&](std::int64_t i) {
    const std::int64_t k = i + 1;
    const tasks::TaskOptions task = task_for(config, options, k);
    const tasks::Rows rows = rows_of(task, static_cast<std::uint64_t>(config.train.seed + k));
    splits[static_cast<std::size_t>(i)] =
        task.name == "table"
            ? table_references(rows)
            : series_references(rows, {std::max<std::int64_t>(task.horizon, 1), options.season});
  });
  std::vector<probe::ComparisonRow> all;
  for (const RowReference& first : splits.front()) {
    probe::ComparisonRow row;
    std::vector<std::string> choices;
    for (const std::vector<RowReference>& split : splits) {
      const auto same = std::find_if(split.begin(), split.end(),
                                     [&](const RowReference& other) { return other.name == first.name; });
      if (same == split.end()) break;
      choices.push_back(same->choice);
      row.values.push_back(same->errors.rmse);
      row.mae.push_back(same->errors.mae);
      row.r2.push_back(same->errors.r2);
    }
    if (row.values.size() != splits.size()) continue;  // a season that is the last value on some split
    row.kind = probe::RowKind::kReference;
    row.name = name_with(first.name, choices);
    row.n_heads = row.n_layers = 0;
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace headtorch::train
