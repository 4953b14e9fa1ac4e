#include "src/core/error.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "src/core/interrupt.hpp"
#include "src/core/shape.hpp"
#include "tests/support/errors.hpp"

namespace headtorch {
namespace {

TEST(Error, is_one_line_whatever_it_quotes) {
  EXPECT_STREQ(DataError("a\nb.txt", "holds \"\t\x1b[31m\x7f\"\r\n").what(),
               "[a\\nb.txt] holds \"\\t\\x1b[31m\\x7f\"\\x0d\\n");
  EXPECT_EQ(one_line("na\u00efve \U0001F600"), "na\u00efve \U0001F600");
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a\\x00b");
}

// The numbers are the documented ones; scripts rely on them.
TEST(Error, exit_codes) {
  const auto code = [](const Error& error) { return static_cast<int>(error.code()); };
  EXPECT_EQ(code(UsageError("a", "b")), 64);
  EXPECT_EQ(code(DataError("a", "b")), 65);
  EXPECT_EQ(code(InputMissing("a", "b")), 66);
  EXPECT_EQ(code(CannotCreate("a", "b")), 73);
  EXPECT_EQ(code(InputOutputError("a", "b")), 74);
  EXPECT_EQ(code(ConfigError("a", "b")), 78);
  EXPECT_EQ(code(ShapeError("a", "b")), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::kOutOfMemory), 70);
  EXPECT_EQ(static_cast<int>(ExitCode::kInterrupted), 130);
  EXPECT_EQ(static_cast<int>(ExitCode::kTerminated), 143);
}

TEST(CheckShape, accepts_fitting_sizes) {
  EXPECT_NO_THROW(check_shape("f", "x", std::vector<std::int64_t>{2, 3}, {2, 3}));
  EXPECT_NO_THROW(check_shape("f", "x", std::vector<std::int64_t>{2, 3}, {kAnySize, 3}));
  EXPECT_NO_THROW(check_shape("f", "x", std::vector<std::int64_t>{}, {}));
}

TEST(CheckShape, names_both_shapes) {
  const auto message = [](std::vector<std::int64_t> sizes, std::initializer_list<std::int64_t> expected,
                          const char* text) {
    return test::fails([&] { check_shape("attend", "q", sizes, expected); }, ExitCode::kInternal,
                       ::testing::StrEq(text));
  };
  EXPECT_TRUE(message({2, 3}, {kAnySize, 4}, "[attend] q has shape [2, 3], expected [*, 4]"));
  EXPECT_TRUE(message({2}, {2, 3}, "[attend] q has shape [2], expected [2, 3]"));
  EXPECT_TRUE(message({2, 3, 1}, {2, 3}, "[attend] q has shape [2, 3, 1], expected [2, 3]"));
  EXPECT_TRUE(message({}, {1}, "[attend] q has shape [], expected [1]"));
}

TEST(InterruptDeathTest, the_first_signal_is_remembered_and_the_second_ends_the_process) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          catch_interrupts();
          if (interrupt_signal() != 0) ::_exit(1);
          ::raise(signal);
          ::_exit(interrupt_signal() == signal ? 42 : 2);
        },
        ::testing::ExitedWithCode(42), "");
    EXPECT_EXIT(
        {
          catch_interrupts();
          ::raise(signal);
          ::raise(signal);
          ::_exit(3);
        },
        ::testing::KilledBySignal(signal), "");
  }
}

}  // namespace
}  // namespace headtorch
