#include "src/cli/heads_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/cli/json_number.hpp"
#include "src/cli/place_document.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {

using nlohmann::ordered_json;

namespace {

ordered_json score_document(const probe::Score& score) {
  return {{"value", json_number(score.value)},
          {"low", json_number(score.low)},
          {"high", json_number(score.high)},
          {"rows", score.rows},
          {"chance", json_number(score.chance)}};
}

ordered_json kernel_document(const probe::NearestKernel& nearest) {
  const HeadKernel& kernel = nearest.kernel;
  const bool gaussian = kernel.family == KernelFamily::kGaussian;
  const auto only = [](bool has, double value) { return has ? json_number(value) : ordered_json(nullptr); };
  ordered_json document = {{"family", family_name(kernel.family)},
                           {"slope", only(gaussian, kernel.slope)},
                           {"offset", only(gaussian, kernel.offset)},
                           {"bandwidth", only(gaussian, kernel.bandwidth)},
                           {"eps", json_number(kernel.eps)},
                           {"kl", json_number(nearest.kl)},
                           {"kl_uniform", json_number(nearest.kl_uniform)},
                           {"explained", json_number(nearest.explained)},
                           {"explained_unweighted", json_number(nearest.explained_unweighted)},
                           {"positional_share", only(nearest.held_out, nearest.positional_share)},
                           {"nature", nearest.nature},
                           {"weighted", nearest.weighted},
                           {"held_out", nearest.held_out},
                           {"text", kernel_text(kernel)}};
  if (kernel.family == KernelFamily::kKey) document["key"] = kernel.key;
  if (nearest.explained_by_row) {
    document["explained_by_row"] = json_number(*nearest.explained_by_row);
    ordered_json& rows = document["rows"] = ordered_json::array();
    for (const probe::RowKernel& row : nearest.rows) {
      rows.push_back({{"centre", json_number(row.centre)},
                      {"bandwidth", json_number(row.bandwidth)},
                      {"identified", row.identified}});
    }
  }
  return document;
}

ordered_json compositions(const probe::Circuits& circuits) {
  ordered_json pairs = ordered_json::array();
  for (const probe::Composition& pair : circuits.compositions) {
    pairs.push_back({{"lower", {pair.lower.layer, pair.lower.head}},
                     {"upper", {pair.upper.layer, pair.upper.head}},
                     {"query", json_number(pair.query)},
                     {"key", json_number(pair.key)},
                     {"value", json_number(pair.value)}});
  }
  return {{"chance", json_number(circuits.chance)}, {"pairs", pairs}};
}

/// "" for what is not finite, else the shortest text that reads back the same.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

}  // namespace

ordered_json head_document(const probe::HeadReport& head) {
  ordered_json document = place_document(head.place());
  for (const probe::NamedScore& named : head.scores) document[named.name] = score_document(named.score);
  document["kernel"] = kernel_document(head.kernel);
  document["labels"] = head.labels;
  document["sentence"] = sentence(head);
  return document;
}

ordered_json heads_list(const std::vector<probe::HeadReport>& heads) {
  ordered_json list = ordered_json::array();
  for (const probe::HeadReport& head : heads) list.push_back(head_document(head));
  return list;
}

ordered_json replaced_document(const train::HeadStudy& study) {
  const auto evaluation = [](const train::Evaluation& found) {
    return ordered_json{{"loss", json_number(found.loss)},
                        {"token_accuracy", json_number(found.token_accuracy)},
                        {"sequence_accuracy", json_number(found.sequence_accuracy)}};
  };
  return {{"n", study.base.n}, {"base", evaluation(study.base)}, {"replaced", evaluation(study.replaced)}};
}

ordered_json study_document(const std::string& run, const train::HeadStudy& study) {
  return {{"run", run},
          {"step", study.step},
          {"n_fit", study.n_fit},
          {"n_judge", study.n_judge},
          {"heads", heads_list(study.heads)},
          {"all_replaced", replaced_document(study)},
          {"composition", compositions(study.circuits)}};
}

std::string heads_csv(const std::vector<probe::HeadReport>& heads) {
  if (heads.empty()) return {};
  std::string text = "stack,layer,head";
  for (const probe::NamedScore& named : heads.front().scores) {
    text += fmt::format(",{0},{0}_low,{0}_high,{0}_rows,{0}_chance", named.name);
  }
  text +=
      ",family,key,slope,offset,bandwidth,eps,kl,kl_uniform,explained,explained_unweighted,positional_share,"
      "nature,"
      "labels\n";
  for (const probe::HeadReport& head : heads) {
    text += fmt::format("{},{},{}", head.stack == Stack::kSelf ? "" : stack_name(head.stack), head.layer,
                        head.head);
    for (const auto& [name, score] : head.scores) {
      text += fmt::format(",{},{},{},{},{}", cell(score.value), cell(score.low), cell(score.high), score.rows,
                          cell(score.chance));
    }
    const HeadKernel& kernel = head.kernel.kernel;
    const bool gaussian = kernel.family == KernelFamily::kGaussian;
    const auto only = [](bool has, double value) { return has ? cell(value) : std::string(); };
    text += fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{}\n", family_name(kernel.family),
                        kernel.family == KernelFamily::kKey ? std::to_string(kernel.key) : "",
                        only(gaussian, kernel.slope), only(gaussian, kernel.offset),
                        only(gaussian, kernel.bandwidth), cell(kernel.eps), cell(head.kernel.kl),
                        cell(head.kernel.kl_uniform), cell(head.kernel.explained),
                        cell(head.kernel.explained_unweighted), cell(head.kernel.positional_share),
                        head.kernel.nature, fmt::join(head.labels, " "));
  }
  return text;
}

std::string replaced_sentence(const train::HeadStudy& study) {
  const double before = study.base.token_accuracy, after = study.replaced.token_accuracy;
  if (!std::isfinite(before) || !std::isfinite(after)) return {};
  const std::string from = fmt::format("{:.2f}", before), to = fmt::format("{:.2f}", after);
  const std::string what = from == to       ? "stays " + to
                           : after < before ? fmt::format("falls from {} to {}", from, to)
                                            : fmt::format("rises from {} to {}", from, to);
  return fmt::format("With every head replaced by its kernel, token accuracy {} (loss {} to {}; {})", what,
                     report::readable(study.base.loss, 3), report::readable(study.replaced.loss, 3),
                     report::counted(study.base.n, "test example"));
}

}  // namespace headtorch::cli
