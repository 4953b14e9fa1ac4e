#include "train/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace headtorch::train {
namespace {

thread_local bool beside_others = false;

}  // namespace

bool runs_beside_others() { return beside_others; }

void run_side_by_side(std::int64_t n_jobs, std::int64_t n_threads,
                      const std::function<void(std::int64_t job)>& job) {
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> failed = false;
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n_jobs));
  const auto work = [&] {
    beside_others = std::min(n_threads, n_jobs) > 1;
    for (std::int64_t mine = next++; mine < n_jobs && !failed; mine = next++) {
      try {
        job(mine);
      } catch (...) {
        errors[static_cast<std::size_t>(mine)] = std::current_exception();
        failed = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 0; i < std::min(n_threads, n_jobs); ++i) threads.emplace_back(work);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace headtorch::train
