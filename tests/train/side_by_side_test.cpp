#include "train/side_by_side.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace headtorch::train {
namespace {

TEST(SideBySide, EachJobRunsOnce) {
  for (const std::int64_t n_threads : {1, 3, 50}) {
    std::vector<std::atomic<int>> runs(20);
    run_side_by_side(20, n_threads, [&](std::int64_t job) { ++runs[static_cast<std::size_t>(job)]; });
    for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(SideBySide, NoJobsIsDone) {
  run_side_by_side(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(SideBySide, OneThreadTakesJobsInOrder) {
  std::vector<std::int64_t> order;
  run_side_by_side(5, 1, [&](std::int64_t job) { order.push_back(job); });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
}

TEST(SideBySide, TheExceptionOfTheLowestJobIsThrownAndNoFurtherJobBegins) {
  std::atomic<int> begun = 0;
  std::atomic<bool> second_failed = false;
  try {
    run_side_by_side(100, 2, [&](std::int64_t job) {
      ++begun;
      if (job == 0) {
        while (!second_failed) std::this_thread::yield();
      } else {
        second_failed = true;
      }
      throw std::runtime_error(std::to_string(job));
    });
    FAIL() << "expected an exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "0");
  }
  EXPECT_EQ(begun, 2);
}

}  // namespace
}  // namespace headtorch::train
