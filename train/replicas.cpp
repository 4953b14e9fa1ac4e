#include "train/replicas.hpp"

#include <ATen/Parallel.h>
#include <sched.h>

#include <algorithm>

namespace headtorch::train {

Replicas::Replicas(std::int64_t n) : size_(n), errors_(static_cast<std::size_t>(n)) {
  at::set_num_threads(1);
  for (std::int64_t share = 1; share < n; ++share) threads_.emplace_back([this, share] { serve(share); });
}

Replicas::~Replicas() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Replicas::run(const std::function<void(std::int64_t)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    running_ = size_ - 1;
    ++round_;
    std::fill(errors_.begin(), errors_.end(), nullptr);
  }
  start_.notify_all();
  try {
    work(0);
  } catch (...) {
    errors_[0] = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return running_ == 0; });
  for (const std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(error);
  }
}

void Replicas::serve(std::int64_t share) {
  at::set_num_threads(1);
  std::uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return closing_ || round_ != done; });
    if (closing_) return;
    done = round_;
    const auto* work = work_;
    lock.unlock();
    try {
      (*work)(share);
    } catch (...) {
      errors_[static_cast<std::size_t>(share)] = std::current_exception();
    }
    lock.lock();
    if (--running_ == 0) finished_.notify_one();
  }
}

std::int64_t choose_threads(const TrainOptions& options, std::int64_t parameters,
                            std::int64_t tokens_a_batch) {
  if (options.threads > 0) return std::min(options.threads, options.batch);
  constexpr double kWorthSharing = 1e8;  // FLOP a step; below it, waking a thread costs more than it does
  constexpr std::int64_t kMost = 8, kExamplesEach = 4;
  if (6.0 * static_cast<double>(parameters) * static_cast<double>(tokens_a_batch) < kWorthSharing) return 1;
  return std::clamp<std::int64_t>(std::min(usable_cores(), options.batch / kExamplesEach), 1, kMost);
}

std::int64_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(CPU_COUNT(&set), 1);
}

}  // namespace headtorch::train
