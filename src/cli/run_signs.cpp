#include "src/cli/run_signs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "train/leak.hpp"
#include "train/signs.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kHealthStep = 150;
constexpr double kTrainOverTest = 9.0;  // a text is for training but for its last tenth

double number(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : probe::kUnknown;
}

bool flag(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_boolean() && found->get<bool>();
}

std::int64_t step_number(const nlohmann::json& line) {
  const auto found = line.find("step");
  return found != line.end() && found->is_number_integer() ? found->get<std::int64_t>() : -1;
}

probe::HeadSigns head_signs(const nlohmann::json& line) {
  return {number(line, "score_sd"), number(line, "qk_share"), number(line, "entropy_normalised")};
}

void read_settings(const StoredRun& run, probe::Signs& signs) {
  const auto& [task, model, train, hide_token] = run.config;
  const nn::ScoreOptions& attention = model.attention;
  signs.learned_scores = nn::is_learned(attention.score);
  signs.has_rule = task.file.empty();
  signs.n_heads = model.n_heads;
  signs.d_model = model.d_model;
  const double root = std::sqrt(static_cast<double>(model.d_model / model.n_heads));
  const bool has_no_scale =
      attention.score == nn::Score::kGaussian || attention.score == nn::Score::kAdditive;
  if (attention.scale.kind == nn::ScaleKind::kSqrt || has_no_scale) {
    signs.scale_ratio = 1.0;
  } else if (attention.scale.kind == nn::ScaleKind::kNumber) {
    const double own = attention.score == nn::Score::kCosine ? root : 1.0 / root;
    signs.scale_ratio = std::abs(attention.scale.number) / own;
  }
  signs.dropout = std::max({model.dropout, attention.attention_dropout, attention.score_dropout});
  signs.lr = train.lr;
  signs.usual_lr = train::default_config(task.name).train.lr;
  signs.warmup = train.warmup;
  signs.entropy_weight = train.entropy_weight;
  if (!signs.has_rule) {
    const auto examples = static_cast<double>(run.step * train.batch * train.accumulate);
    signs.passes = examples / (kTrainOverTest * static_cast<double>(run.task->size(tasks::Split::kTest)));
  }
}

}  // namespace

void read_metrics(std::string_view text, std::string_view file, probe::Signs& signs) {
  std::vector<probe::CurveStep> steps;
  for (std::size_t at = 0, row = 1; at < text.size(); ++row) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto line = nlohmann::json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded() && end == text.size()) break;  // cut off by a killed run
    if (line.is_discarded()) {
      throw DataError(fmt::format("{}:{}", file, row), "is damaged: expected one JSON object a line");
    }
    at = end + 1;
    if (!line.is_object()) continue;
    const std::int64_t step = step_number(line);
    const auto kind = line.find("kind");
    if (kind == line.end() || step < 0) continue;
    if (*kind == "train") {
      steps.push_back({step, number(line, "loss"), number(line, "grad_norm"), flag(line, "clipped"),
                       flag(line, "non_finite")});
    } else if (*kind == "eval" && line.contains("score_sd")) {
      if (step == 0) signs.start = head_signs(line);
      if (step == kHealthStep) signs.at_150 = head_signs(line);
    }
  }
  signs.curve = probe::read_curve(steps);
}

probe::Signs signs_of(const StoredRun& run) {
  probe::Signs signs;
  read_settings(run, signs);
  const std::filesystem::path metrics = run.folder.path() / "metrics.jsonl";
  std::error_code absent;
  if (std::filesystem::exists(metrics, absent)) read_metrics(read_file(metrics), metrics.string(), signs);
  if (std::isnan(signs.start.score_sd)) {
    const train::Health start = train::initial_health(run.config, *run.task);
    signs.start = {start.score_sd, start.qk_share, start.entropy_normalised};
  }

  const train::ModelSigns model = train::measure_signs(run.config, *run.task, run.model);
  signs.non_finite_at = model.non_finite_at;
  signs.dropout_correlation = model.dropout_correlation;
  signs.permutation_difference = model.permutation_difference;
  signs.train_loss = model.train.loss;
  signs.train_accuracy = model.train.token_accuracy;
  signs.test_loss = model.held_out.loss;
  signs.test_accuracy = model.held_out.token_accuracy;
  if (!signs.non_finite_at.empty()) return signs;
  const train::LeakReport leaks =
      train::find_leaks(run.config, *run.task, run.model, train::LeakDepth::kQuick);
  if (const train::LeakCheck* worst = leaks.worst()) {
    signs.largest_leak = worst->largest;
    signs.leak_place = worst->place;
  }
  return signs;
}

}  // namespace headtorch::cli
