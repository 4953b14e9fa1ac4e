#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "train/run.hpp"

namespace headtorch::cli {

/// Where progress goes: a bar on a terminal, plain lines elsewhere, nowhere when asked to be quiet.
enum class ProgressStyle { kBar, kLines, kNone };
ProgressStyle progress_style(bool quiet);

/// Says every few seconds, on standard error, that work which cannot be counted goes on, and for how long.
class Waiting {
 public:
  Waiting(ProgressStyle style, std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void tell(std::stop_token stop);

  ProgressStyle style_;
  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any done_;
  std::jthread teller_;  // last: it uses the others
};

/// Tells on standard error how work goes on: a bar redrawn at most ten times a second, or about ten lines in
/// all.
class Progress {
 public:
  Progress(ProgressStyle style, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One step of training done.
  void step(const train::StepMetrics& metrics);
  /// `done` of `total` pieces of work done; `name` is the last one.
  void piece(std::int64_t done, std::int64_t total, const std::string& name,
             std::string_view what = "trainings");
  /// A line that stays.
  void line(const std::string& text);
  /// Ends the bar's line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  /// True when it is time to draw again.
  bool due(std::int64_t done);
  void draw(std::int64_t done, const std::string& text);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  ProgressStyle style_;
  std::int64_t total_;
  Clock::time_point start_ = Clock::now(), drawn_ = {};
  std::int64_t tenth_ = -1;  ///< of the work, when a line was last told
  bool bar_open_ = false;
};

}  // namespace headtorch::cli
