#include "src/cli/heads_history.hpp"

#include <fmt/format.h>

#include <functional>
#include <limits>

namespace headtorch::cli {
namespace {

using Number = std::function<double(const probe::HeadReport&)>;

report::ScoreHistory score_history(const std::string& name, const std::vector<train::HeadStudy>& studies,
                                   std::optional<report::AxisRange> range, const Number& number) {
  report::ScoreHistory history{.name = name, .heads = {}, .range = range};
  for (std::size_t head = 0; head < studies.front().heads.size(); ++head) {
    report::HeadHistory& line = history.heads.emplace_back();
    line.head = studies.front().heads[head].place();
    for (const train::HeadStudy& study : studies) line.values.push_back(number(study.heads[head]));
  }
  return history;
}

}  // namespace

report::History heads_history(const std::string& task, const std::vector<double>& loss,
                              const std::vector<train::HeadStudy>& studies) {
  report::History history;
  history.title = fmt::format("{}: what each head was over training", task);
  for (std::size_t step = 1; step <= loss.size(); ++step)
    history.loss_steps.push_back(static_cast<double>(step));
  history.loss = loss;
  for (const train::HeadStudy& study : studies) history.steps.push_back(static_cast<double>(study.step));
  if (studies.empty()) return history;
  const report::AxisRange share{0.0, 1.0};
  const auto add = [&](const std::string& title, const std::string& score) {
    history.scores.push_back(score_history(
        title, studies, share, [&](const probe::HeadReport& head) { return head.score(score).value; }));
  };
  add("normalised entropy", "entropy_normalised");
  add("previous token", "previous_token");
  add("induction", "induction");
  history.scores.push_back(
      score_history("explained by the nearest kernel", studies, share,
                    [](const probe::HeadReport& head) { return head.kernel.explained; }));
  history.scores.push_back(
      score_history("bandwidth, positions", studies, {}, [](const probe::HeadReport& head) {
        const HeadKernel& kernel = head.kernel.kernel;
        return kernel.family == KernelFamily::kGaussian ? kernel.bandwidth
                                                        : std::numeric_limits<double>::quiet_NaN();
      }));
  return history;
}

}  // namespace headtorch::cli
