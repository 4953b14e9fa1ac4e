#include "src/cli/ablation_document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "src/cli/json_number.hpp"
#include "src/cli/place_document.hpp"
#include "src/report/table.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {

using nlohmann::ordered_json;

namespace {

ordered_json interval(const probe::Score& score) {
  return {{"value", json_number(score.value)},
          {"low", json_number(score.low)},
          {"high", json_number(score.high)}};
}

ordered_json change_document(const probe::Change& change) {
  ordered_json document = interval(change.loss);
  document["accuracy"] = interval(change.accuracy);
  return document;
}

ordered_json replaced_part(const probe::Replaced& replaced) {
  return {{"removed", change_document(replaced.removed)},
          {"mean_replaced", change_document(replaced.mean_replaced)},
          {"uniform", change_document(replaced.uniform)},
          {"kernel_replaced",
           replaced.kernel_replaced ? change_document(*replaced.kernel_replaced) : ordered_json(nullptr)},
          {"behaviour_share", json_number(replaced.behaviour_share())}};
}

/// One line of the tables: a head, a layer, or all.
struct Line {
  std::string what;
  const probe::Replaced* replaced = nullptr;
  const probe::HeadAblation* head = nullptr;
};

std::vector<Line> lines(const probe::AblationReport& report) {
  std::vector<Line> all;
  for (const probe::HeadAblation& head : report.heads)
    all.push_back({head_name(head.place), &head.replaced, &head});
  for (const probe::LayerAblation& layer : report.layers)
    all.push_back({layer_title(layer.stack, layer.layer), &layer.replaced, nullptr});
  all.push_back({"all heads", &report.all, nullptr});
  return all;
}

/// Empty for what is not finite, else the shortest text that reads back the same.
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

std::string short_text(double value) { return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-"; }

/// Three decimals; what they would hide, as a power of ten.
std::string nats(double value) {
  const bool hidden = value != 0.0 && std::abs(value) < 0.0005;
  return hidden ? fmt::format("{:.0e}", value) : fmt::format("{:.3f}", value);
}

std::string change_text(const probe::Change* change) {
  if (!change || !std::isfinite(change->loss.value)) return "-";
  const probe::Score& loss = change->loss;
  const std::string value = (loss.value < 0.0 ? "" : "+") + nats(loss.value);
  return std::isfinite(loss.low) ? fmt::format("{}±{}", value, nats((loss.high - loss.low) / 2)) : value;
}

const probe::Change* kernel_of(const probe::Replaced& replaced) {
  return replaced.kernel_replaced ? &*replaced.kernel_replaced : nullptr;
}

std::string label_of(const probe::HeadAblation& head) {
  return head.removal_helps() ? "removal helps" : head.dispensable() ? "dispensable" : "";
}

std::string heads_table(const probe::AblationReport& report) {
  const double accuracy = report.base.token_accuracy();
  report::Table table;
  table.headers = {"",      "removed",        "mean",          "uniform",         "kernel",
                   "share", "right, removed", "right, kernel", "another removed", "importance",
                   "label"};
  table.align.assign(table.headers.size(), report::Align::kRight);
  table.align.front() = table.align.back() = report::Align::kLeft;
  for (const Line& line : lines(report)) {
    const probe::Replaced& replaced = *line.replaced;
    const probe::Change* kernel = kernel_of(replaced);
    const auto share = replaced.behaviour_share();
    table.rows.push_back(
        {line.what, change_text(&replaced.removed), change_text(&replaced.mean_replaced),
         change_text(&replaced.uniform), change_text(kernel), share ? fmt::format("{:.2f}", *share) : "-",
         short_text(accuracy + replaced.removed.accuracy.value),
         kernel ? short_text(accuracy + kernel->accuracy.value) : "-",
         line.head ? (std::isfinite(line.head->random_head) ? nats(line.head->random_head) : "-") : "",
         line.head ? short_text(line.head->importance) : "", line.head ? label_of(*line.head) : ""});
  }
  return report::to_text(table);
}

std::string greedy_table(const probe::AblationReport& report) {
  report::Table table;
  table.headers = {"heads left", "removed", "loss", "right", "loss, random order"};
  table.align.assign(table.headers.size(), report::Align::kRight);
  table.rows.push_back(
      {std::to_string(report.heads.size()), "none", report::readable(report.base.mean_loss(), 3),
       short_text(report.base.token_accuracy()), report::readable(report.base.mean_loss(), 3)});
  for (const probe::GreedyStep& step : report.greedy) {
    table.rows.push_back({std::to_string(step.heads_left), head_name(step.removed),
                          report::readable(step.loss, 3), short_text(step.token_accuracy),
                          report::readable(step.random_loss, 3)});
  }
  return report::to_text(table);
}

}  // namespace

ordered_json results_document(const probe::ExampleResults& results) {
  return {{"n", results.loss.size()},
          {"loss", json_number(results.mean_loss())},
          {"token_accuracy", json_number(results.token_accuracy())},
          {"sequence_accuracy", json_number(results.sequence_accuracy())}};
}

ordered_json ablation_document(const probe::AblationReport& report) {
  ordered_json heads = ordered_json::array(), layers = ordered_json::array(), greedy = ordered_json::array();
  for (const probe::HeadAblation& head : report.heads) {
    ordered_json item = place_document(head.place);
    item.update(replaced_part(head.replaced));
    item["importance"] = json_number(head.importance);
    item["entropy_normalised"] = json_number(head.entropy_normalised);
    item["dispensable"] = head.dispensable();
    item["removal_helps"] = head.removal_helps();
    item["random_head"] = json_number(head.random_head);
    item["like_entropy"] = nullptr;
    if (head.like_entropy) {
      item["like_entropy"] = place_document(*head.like_entropy);
      item["like_entropy"]["removed"] = json_number(head.like_entropy_loss);
    }
    heads.push_back(std::move(item));
  }
  for (const probe::LayerAblation& layer : report.layers) {
    ordered_json item = {{"layer", layer.layer}};
    if (layer.stack != Stack::kSelf) item["stack"] = stack_name(layer.stack);
    item.update(replaced_part(layer.replaced));
    layers.push_back(std::move(item));
  }
  for (const probe::GreedyStep& step : report.greedy) {
    ordered_json& item = greedy.emplace_back(place_document(step.removed));
    item.update({{"heads_left", step.heads_left},
                 {"loss", json_number(step.loss)},
                 {"token_accuracy", json_number(step.token_accuracy)},
                 {"random_loss", json_number(step.random_loss)}});
  }
  return {{"base", results_document(report.base)},
          {"heads", heads},
          {"layers", layers},
          {"all", replaced_part(report.all)},
          {"greedy", greedy},
          {"greedy_examples", report.greedy_examples},
          {"random_orders", report.random_orders},
          {"importance_correlation", json_number(report.importance_correlation)}};
}

ordered_json one_head_document(const train::OneHead& one) {
  ordered_json document = {{"parameters", one.result.parameters},
                           {"steps", one.result.steps},
                           {"seconds", json_number(one.result.seconds)}};
  document.update(results_document(one.examples));
  document["change"] = change_document(one.change);
  return document;
}

std::string ablation_csv(const probe::AblationReport& report) {
  const std::vector<std::pair<std::string, std::function<const probe::Change*(const probe::Replaced&)>>>
      kinds = {{"removed", [](const probe::Replaced& r) { return &r.removed; }},
               {"mean_replaced", [](const probe::Replaced& r) { return &r.mean_replaced; }},
               {"uniform", [](const probe::Replaced& r) { return &r.uniform; }},
               {"kernel_replaced", kernel_of}};
  std::string text = "what";
  for (const auto& [kind, of] : kinds) text += fmt::format(",{0},{0}_low,{0}_high,{0}_accuracy", kind);
  text +=
      ",behaviour_share,importance,entropy_normalised,random_head,like_entropy,like_entropy_removed,"
      "dispensable,removal_helps\n";
  for (const Line& line : lines(report)) {
    text += line.what;
    for (const auto& [kind, of] : kinds) {
      const probe::Change* change = of(*line.replaced);
      text += change ? fmt::format(",{},{},{},{}", cell(change->loss.value), cell(change->loss.low),
                                   cell(change->loss.high), cell(change->accuracy.value))
                     : ",,,,";
    }
    const auto share = line.replaced->behaviour_share();
    text += ',' + (share ? cell(*share) : std::string());
    if (const probe::HeadAblation* head = line.head) {
      text += fmt::format(",{},{},{},{},{},{},{}\n", cell(head->importance), cell(head->entropy_normalised),
                          cell(head->random_head), head->like_entropy ? head_name(*head->like_entropy) : "",
                          cell(head->like_entropy_loss), head->dispensable(), head->removal_helps());
    } else {
      text += ",,,,,,,\n";
    }
  }
  return text;
}

std::string greedy_csv(const probe::AblationReport& report) {
  std::string text = fmt::format("heads_left,removed,loss,token_accuracy,random_loss\n{},,{},{},{}\n",
                                 report.heads.size(), cell(report.base.mean_loss()),
                                 cell(report.base.token_accuracy()), cell(report.base.mean_loss()));
  for (const probe::GreedyStep& step : report.greedy) {
    text += fmt::format("{},{},{},{},{}\n", step.heads_left, head_name(step.removed), cell(step.loss),
                        cell(step.token_accuracy), cell(step.random_loss));
  }
  return text;
}

report::Plot greedy_plot(const probe::AblationReport& report, const std::string& title) {
  report::Series cheapest{
      .label = "cheapest head first", .colour = report::series_colour(0), .has_points = true};
  report::Series random{.label = fmt::format("random order, mean of {}", report.random_orders),
                        .colour = report::series_colour(1),
                        .dash = report::Dash::kLong,
                        .has_points = true};
  for (report::Series* series : {&cheapest, &random}) {
    series->x.push_back(static_cast<double>(report.heads.size()));
    series->y.push_back(report.base.mean_loss());
  }
  for (const probe::GreedyStep& step : report.greedy) {
    cheapest.x.push_back(static_cast<double>(step.heads_left));
    cheapest.y.push_back(step.loss);
    random.x.push_back(static_cast<double>(step.heads_left));
    random.y.push_back(step.random_loss);
  }
  return {.title = title, .x_title = "heads left", .y_title = "loss, nats", .series = {cheapest, random}};
}

std::string ablation_text(const probe::AblationReport& report) {
  std::string text =
      fmt::format("As it is: loss {}, {} of positions right, on {} of the test split\n\n",
                  report::readable(report.base.mean_loss(), 3), short_text(report.base.token_accuracy()),
                  report::counted(std::ssize(report.base.loss), "example"));
  text += heads_table(report);
  text +=
      "\nLoss it costs, in nats, with half its 95 % interval over examples, when heads are removed (output "
      "0), "
      "replaced by\ntheir mean output at each position, made to look at all visible keys alike, or replaced "
      "by "
      "their nearest kernel.\nShare: how much of what the weights do beyond uniform ones the kernel does. "
      "Right: "
      "positions, with them removed, and\nwith kernels. Another removed: the mean cost of removing one of "
      "the "
      "other heads. Importance: Michel et al. 2019.\nDispensable: removal costs less than its interval. "
      "Removal helps: the loss is lower without it.\nSingle "
      "heads may be copies of others; layers and all heads tell more.\n";
  if (std::isfinite(report.importance_correlation)) {
    text += fmt::format("Rank correlation of importance with what removal costs: {:.2f}\n",
                        report.importance_correlation);
  }
  if (report.greedy.empty()) return text;
  text += fmt::format("\nRemoved one by one, the cheapest first (chosen on {}):\n\n",
                      report::counted(report.greedy_examples, "example"));
  return text + greedy_table(report);
}

}  // namespace headtorch::cli
