#include "src/cli/diagnosis_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/cli/json_number.hpp"
#include "src/cli/place_document.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {

using nlohmann::ordered_json;

namespace {

ordered_json head_signs(const probe::HeadSigns& signs) {
  return {{"score_sd", json_number(signs.score_sd)},
          {"qk_share", json_number(signs.qk_share)},
          {"entropy_normalised", json_number(signs.entropy_normalised)}};
}

ordered_json health_document(const probe::Signs& signs) {
  const probe::TrainingCurve& curve = signs.curve;
  ordered_json take_off = nullptr;
  if (curve.take_off) {
    take_off = {{"step", *curve.take_off},
                {"loss_before", json_number(curve.take_off_from)},
                {"loss_after", json_number(curve.take_off_to)}};
  }
  return {{"start", head_signs(signs.start)},
          {"step_150", head_signs(signs.at_150)},
          {"steps", curve.steps},
          {"warmup", signs.warmup},
          {"lr", json_number(signs.lr)},
          {"first_loss", json_number(curve.first_loss)},
          {"early_loss", json_number(curve.early_loss)},
          {"highest_loss", json_number(curve.highest_loss)},
          {"last_loss", json_number(curve.last_loss)},
          {"late_fall", json_number(curve.late_fall)},
          {"take_off", take_off},
          {"norm_spikes", curve.spikes},
          {"clipped_share", json_number(curve.clipped_share)},
          {"non_finite_steps", curve.non_finite_steps},
          {"non_finite_at",
           signs.non_finite_at.empty() ? ordered_json(nullptr) : ordered_json(signs.non_finite_at)},
          {"largest_leak", json_number(signs.largest_leak)},
          {"dropout_correlation", json_number(signs.dropout_correlation)},
          {"permutation_difference", json_number(signs.permutation_difference)},
          {"train_loss", json_number(signs.train_loss)},
          {"test_loss", json_number(signs.test_loss)},
          {"train_token_accuracy", json_number(signs.train_accuracy)},
          {"test_token_accuracy", json_number(signs.test_accuracy)},
          {"passes_over_data", json_number(signs.passes)}};
}

std::string value_text(double value) { return std::isnan(value) ? "not known" : report::readable(value, 3); }

std::string findings_text(const probe::Diagnosis& diagnosis) {
  if (diagnosis.findings.empty()) return "Nothing found that is wrong.\n";
  std::string text;
  for (const probe::Finding& finding : diagnosis.findings) {
    text += fmt::format("{}: {}\n  because  {}: {}, threshold {}\n  try      {}{}\n",
                        probe::severity_name(finding.severity), finding.cause, finding.sign,
                        value_text(finding.value), value_text(finding.threshold), finding.remedy,
                        finding.flag.empty() ? "" : ": " + finding.flag);
  }
  return text;
}

std::string take_off_text(const probe::TrainingCurve& curve) {
  if (!curve.take_off) return "no lasting fall";
  return fmt::format("step {} ({} to {})", *curve.take_off, report::readable(curve.take_off_from, 3),
                     report::readable(curve.take_off_to, 3));
}

std::string spikes_text(const probe::TrainingCurve& curve) {
  const auto count = static_cast<std::int64_t>(curve.spikes.size());
  if (count == 0) return "none";
  return fmt::format("{}, the first at {}", report::counted(count, "step"), curve.spikes.front());
}

std::string health_text(const probe::Signs& signs) {
  const probe::TrainingCurve& curve = signs.curve;
  const auto pair = [](double a, double b) { return value_text(a) + " / " + value_text(b); };
  report::Table table{
      {"health", "", "what it is"}, {}, {report::Align::kLeft, report::Align::kLeft, report::Align::kLeft}};
  table.rows = {
      {"spread of scores", pair(signs.start.score_sd, signs.at_150.score_sd),
       "at step 0 / 150; usual start 0.8 to 1.1"},
      {"entropy of heads", pair(signs.start.entropy_normalised, signs.at_150.entropy_normalised),
       "at step 0 / 150; usual start 0.82 to 0.90"},
      {"warmup", fmt::format("{} of {}", signs.warmup, report::counted(curve.steps, "step")),
       "steps of rising rate"},
      {"norm spikes", spikes_text(curve),
       fmt::format("gradient norm above {:g} times its running median", probe::kSpikeFactor)},
      {"clipped", curve.steps == 0 ? "not known" : value_text(100.0 * curve.clipped_share) + " %",
       "of the steps"},
      {"non-finite steps", fmt::format("{}", curve.non_finite_steps), "skipped: loss or gradient not finite"},
      {"loss took off", take_off_text(curve), "largest lasting fall"},
      {"training / test loss", pair(signs.train_loss, signs.test_loss),
       "without dropout, 512 examples each"}};
  return report::to_text(table);
}

std::string heads_text(const std::vector<probe::HeadReport>& heads) {
  std::string text;
  for (const probe::HeadReport& head : heads) {
    text += fmt::format("{}  {}\n", probe::head_name(head),
                        head.labels.empty() ? "no label" : fmt::format("{}", fmt::join(head.labels, ", ")));
  }
  return text;
}

}  // namespace

ordered_json diagnosis_document(const std::string& run, std::int64_t step, const probe::Signs& signs,
                                const probe::Diagnosis& diagnosis) {
  ordered_json findings = ordered_json::array(), heads = ordered_json::array();
  for (const probe::Finding& finding : diagnosis.findings) {
    findings.push_back({{"cause", finding.cause},
                        {"severity", probe::severity_name(finding.severity)},
                        {"sign", finding.sign},
                        {"value", json_number(finding.value)},
                        {"threshold", json_number(finding.threshold)},
                        {"remedy", finding.remedy},
                        {"flag", finding.flag}});
  }
  for (const probe::HeadReport& head : signs.heads) {
    ordered_json& item = heads.emplace_back(place_document(head.place()));
    item["labels"] = head.labels;
  }
  return {{"run", run},
          {"step", step},
          {"findings", findings},
          {"health", health_document(signs)},
          {"heads", heads}};
}

std::string diagnosis_text(const probe::Signs& signs, const probe::Diagnosis& diagnosis) {
  std::string text = findings_text(diagnosis) + "\n" + health_text(signs);
  if (!signs.heads.empty()) text += "\n" + heads_text(signs.heads);
  return text;
}

ordered_json leak_document(const std::string& run, std::int64_t step, const train::LeakReport& report) {
  ordered_json checks = ordered_json::array();
  for (const train::LeakCheck& check : report.checks) {
    checks.push_back({{"place", check.place},
                      {"mode", check.mode},
                      {"form", check.form},
                      {"largest", json_number(check.largest)},
                      {"leaks", check.largest > 0.0},
                      {"query", check.query},
                      {"key", check.key}});
  }
  return {{"run", run},
          {"step", step},
          {"may_look_ahead", report.may_look_ahead},
          {"finite", report.finite},
          {"leaks", report.leaks()},
          {"checks", checks}};
}

std::string leak_text(const train::LeakReport& report) {
  if (report.may_look_ahead) {
    return "Looking ahead is allowed: this model reads the whole sequence (family = encoder), so there is no "
           "mask to "
           "check.\n";
  }
  if (!report.finite) return "Cannot be told: the model's outputs are not finite. `diagnose` says where.\n";
  if (!report.leaks()) {
    return fmt::format(
        "No leak: {} checks of weights, heads, layers and logits, in evaluation and training mode, by "
        "suffix swap and by gradient, are exactly 0.\n",
        report.checks.size());
  }
  std::string text = "LEAK: a position knows of tokens after it.\n";
  for (const train::LeakCheck& check : report.checks) {
    if (check.largest == 0.0) continue;
    text += fmt::format("  {}, {} mode, {}: position {} knows of position {} or later ({})\n", check.place,
                        check.mode, check.form, check.query, check.key, report::readable(check.largest, 3));
  }
  return text;
}

}  // namespace headtorch::cli
