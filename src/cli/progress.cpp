#include "src/cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "src/cli/output.hpp"
#include "src/report/text.hpp"

namespace headtorch::cli {
namespace {

constexpr std::int64_t kBarWidth = 24;
constexpr std::int64_t kLines = 10;
constexpr auto kBetweenTicks = std::chrono::seconds(2), kBetweenLines = std::chrono::seconds(10);
constexpr auto kBetweenDraws = std::chrono::milliseconds(100);

std::string bar(std::int64_t done, std::int64_t total) {
  const auto filled = static_cast<std::size_t>(kBarWidth * done / std::max<std::int64_t>(total, 1));
  return fmt::format("[{}{}]", std::string(filled, '='), std::string(kBarWidth - filled, ' '));
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::max(seconds, 0.0)));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::kNone;
  return errors_are_terminal() ? ProgressStyle::kBar : ProgressStyle::kLines;
}

Waiting::Waiting(ProgressStyle style, std::string what) : style_(style), what_(std::move(what)) {
  if (style_ != ProgressStyle::kNone) teller_ = std::jthread([this](std::stop_token stop) { tell(stop); });
}

Waiting::~Waiting() {
  if (!teller_.joinable()) return;
  teller_.request_stop();
  teller_.join();
}

void Waiting::tell(std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  const auto pause = style_ == ProgressStyle::kBar ? kBetweenTicks : kBetweenLines;
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!done_.wait_for(lock, stop, pause, [&stop] { return stop.stop_requested(); })) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const std::string text = fmt::format("{}, for {} so far", what_, duration(seconds.count()));
    fmt::print(stderr, "{}{}", style_ == ProgressStyle::kBar ? "\r\x1b[K" : "", text);
    if (style_ == ProgressStyle::kLines) fmt::print(stderr, "\n");
    std::fflush(stderr);
    told = true;
  }
  if (told && style_ == ProgressStyle::kBar) fmt::print(stderr, "\r\x1b[K");
}

Progress::Progress(ProgressStyle style, std::int64_t total) : style_(style), total_(total) {}

Progress::~Progress() { finish(); }

void Progress::step(const train::StepMetrics& metrics) {
  if (!due(metrics.step)) return;
  const double left =
      seconds() / static_cast<double>(metrics.step) * static_cast<double>(total_ - metrics.step);
  draw(metrics.step,
       fmt::format("loss {}  rate {}  norm {}{}  {} tokens/s  {} left", report::readable(metrics.loss, 3),
                   report::readable(metrics.lr, 2), report::readable(metrics.grad_norm, 2),
                   metrics.non_finite ? " (step left out)" : "",
                   report::readable(metrics.tokens_per_second, 3), duration(left)));
}

void Progress::piece(std::int64_t done, std::int64_t total, const std::string& name, std::string_view what) {
  total_ = total;
  if (done < 1 || !due(done)) return;
  const double left = seconds() / static_cast<double>(done) * static_cast<double>(total - done);
  draw(done, fmt::format("{} done  {} left  {}", what, duration(left), name));
}

void Progress::line(const std::string& text) {
  if (style_ == ProgressStyle::kNone) return;
  if (bar_open_) fmt::print(stderr, "\r\x1b[K");
  fmt::print(stderr, "{}\n", text);
  bar_open_ = false;
}

void Progress::finish() {
  if (bar_open_) fmt::print(stderr, "\n");
  bar_open_ = false;
}

bool Progress::due(std::int64_t done) {
  if (style_ == ProgressStyle::kNone) return false;
  if (style_ == ProgressStyle::kLines) {
    const std::int64_t tenth = kLines * done / std::max<std::int64_t>(total_, 1);
    if (tenth <= tenth_) return false;
    tenth_ = tenth;
    return true;
  }
  const auto now = Clock::now();
  if (now - drawn_ < kBetweenDraws && done < total_) return false;
  drawn_ = now;
  return true;
}

void Progress::draw(std::int64_t done, const std::string& text) {
  const std::string count = fmt::format("{:>{}}/{}", done, fmt::formatted_size("{}", total_), total_);
  if (style_ == ProgressStyle::kLines) {
    fmt::print(stderr, "{}  {}\n", count, text);
    return;
  }
  const std::string line = fmt::format("{} {}  {}", bar(done, total_), count, text);
  fmt::print(stderr, "\r\x1b[K{}", report::fit(line, terminal_columns() - 1));
  std::fflush(stderr);
  bar_open_ = true;
}

}  // namespace headtorch::cli
