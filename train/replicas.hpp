#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "train/settings/config.hpp"

namespace headtorch::train {

/// A fixed team of threads that do equal shares of a step at once; share 0 is done by the calling thread.
/// LibTorch runs one thread in each, so that no barrier spins inside an operation.
class Replicas {
 public:
  explicit Replicas(std::int64_t n);
  ~Replicas();
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  std::int64_t size() const { return size_; }
  /// Calls work(0) .. work(size-1) and waits for all. The first exception, in the order of shares, is thrown
  /// again.
  void run(const std::function<void(std::int64_t share)>& work);

 private:
  void serve(std::int64_t share);

  std::int64_t size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_, finished_;
  const std::function<void(std::int64_t)>* work_ = nullptr;
  std::vector<std::exception_ptr> errors_;
  std::uint64_t round_ = 0;
  std::int64_t running_ = 0;
  bool closing_ = false;
};

/// Replicas for a run: `threads` when it is given; else the cores this process may use, at most 8 and at most
/// one for each 4 examples of a batch, or 1 where a step has less than 0.1 GFLOP. A fixed rule, never a
/// timing, so that a seed gives one run.
std::int64_t choose_threads(const TrainOptions& options, std::int64_t parameters,
                            std::int64_t tokens_a_batch);

/// Cores this process may use.
std::int64_t usable_cores();

}  // namespace headtorch::train
