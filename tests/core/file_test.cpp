#include "src/core/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ReadFile, gives_every_byte) {
  const test::TempFolder folder;
  const std::string bytes("a\0b\xff\r\n", 6), large(3'000'000, 'x');
  EXPECT_EQ(read_file(folder.file("a", bytes)), bytes);
  EXPECT_EQ(read_file(folder.file("b", "")), "");
  EXPECT_EQ(read_file(folder.file("c", large)), large);
}

TEST(ReadFile, refuses_what_is_no_regular_file_and_never_waits_for_it) {
  const test::TempFolder folder;
  const fs::path fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const fs::path& path : {fifo, folder.path(), fs::path("/dev/zero"), fs::path("/dev/tty")}) {
    EXPECT_TRUE(test::fails([&] { read_file(path); }, ExitCode::kInputMissing, HasSubstr(path.string())));
  }
  EXPECT_TRUE(test::fails([&] { read_file(folder.path() / "absent"); }, ExitCode::kInputMissing,
                          HasSubstr("No such file")));
  EXPECT_TRUE(test::fails([] { read_file(""); }, ExitCode::kInputMissing));
}

TEST(WriteFile, replaces_the_whole_file_and_leaves_nothing_else) {
  const test::TempFolder folder;
  const fs::path path = folder.path() / "a";
  write_file(path, "a long first text");
  write_file(path, std::string("b\0c", 3));
  EXPECT_EQ(test::slurp(path), std::string("b\0c", 3));
  write_file(path, "");
  EXPECT_EQ(fs::file_size(path), 0);
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(WriteFile, permissions_follow_the_umask) {
  const test::TempFolder folder;
  const mode_t before = ::umask(027);
  write_file(folder.path() / "a", "x");
  ::umask(before);
  EXPECT_EQ(fs::status(folder.path() / "a").permissions(), static_cast<fs::perms>(0640));
}

TEST(WriteFile, says_what_stands_in_the_way_and_leaves_nothing_behind) {
  const test::TempFolder folder;
  const fs::path file = folder.file("file", "mine");
  fs::create_directories(folder.path() / "full/below");
  EXPECT_TRUE(test::fails([&] { write_file(folder.path() / "absent/a", "x"); }, ExitCode::kCannotCreate,
                          HasSubstr("absent/a")));
  EXPECT_TRUE(test::fails([&] { write_file(file / "a", "x"); }, ExitCode::kCannotCreate,
                          HasSubstr("Not a directory")));
  EXPECT_TRUE(test::fails([&] { write_file(folder.path() / "full", "x"); }, ExitCode::kInputOutput,
                          HasSubstr("full")));
  EXPECT_TRUE(
      test::fails([&] { write_file("/proc/a", "x"); }, ExitCode::kCannotCreate, HasSubstr("/proc/a")));
  EXPECT_EQ(entries(folder.path()), 2);
  EXPECT_EQ(test::slurp(file), "mine");
}

/// Runs `action` in a child process that may write files of 1000 bytes at most, as on a disk that fills up.
template <typename Action>
int with_full_disk(Action action) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      action();
      ::_exit(0);
    } catch (const InputOutputError&) {
      ::_exit(74);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(WriteFile, a_full_disk_costs_nothing_that_was_there) {
  const test::TempFolder folder;
  const fs::path path = folder.file("a", "the last good one");
  EXPECT_EQ(with_full_disk([&] { write_file(path, std::string(1000, 'x')); }), 0);
  EXPECT_EQ(with_full_disk([&] { write_file(path, std::string(1001, 'y')); }), 74);
  EXPECT_EQ(test::slurp(path), std::string(1000, 'x'));
  EXPECT_EQ(entries(folder.path()), 1);
}

TEST(AppendFile, adds_at_the_end) {
  const test::TempFolder folder;
  append_file(folder.path() / "a", "one\n");
  append_file(folder.path() / "a", "two\n");
  EXPECT_EQ(test::slurp(folder.path() / "a"), "one\ntwo\n");
}

TEST(AppendFile, lines_of_several_writers_stay_whole) {
  const test::TempFolder folder;
  const fs::path path = folder.path() / "a";
  std::vector<std::thread> writers;
  for (const char c : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&path, c] {
      for (int i = 0; i < 100; ++i) append_file(path, std::string(500, c) + '\n');
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::istringstream lines(test::slurp(path));
  int n = 0;
  for (std::string line; std::getline(lines, line); ++n) ASSERT_EQ(line, std::string(500, line[0]));
  EXPECT_EQ(n, 400);
}

TEST(AppendFile, says_what_went_wrong) {
  const test::TempFolder folder;
  EXPECT_TRUE(test::fails([&] { append_file(folder.path(), "x"); }, ExitCode::kCannotCreate));
  EXPECT_TRUE(test::fails([&] { append_file(folder.path() / "absent/a", "x"); }, ExitCode::kCannotCreate));
  EXPECT_TRUE(
      test::fails([] { append_file("/dev/full", "x"); }, ExitCode::kInputOutput, HasSubstr("No space left")));
  const fs::path fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(test::fails([&] { append_file(fifo, "x"); }, ExitCode::kCannotCreate));
}

TEST(MakeFolder, creates_parents_and_accepts_what_is_there) {
  const test::TempFolder folder;
  make_folder(folder.path() / "a/b/c");
  make_folder(folder.path() / "a/b/c");
  make_folder(folder.path() / "a/b/c/");
  EXPECT_TRUE(fs::is_directory(folder.path() / "a/b/c"));
}

TEST(MakeFolder, refuses_when_a_file_is_in_the_way) {
  const test::TempFolder folder;
  const fs::path file = folder.file("file", "");
  EXPECT_TRUE(test::fails([&] { make_folder(file); }, ExitCode::kCannotCreate, HasSubstr("file")));
  EXPECT_TRUE(test::fails([&] { make_folder(file / "below"); }, ExitCode::kCannotCreate));
  EXPECT_TRUE(test::fails([] { make_folder("/proc/a"); }, ExitCode::kCannotCreate, HasSubstr("/proc/a")));
  EXPECT_TRUE(test::fails([] { make_folder(""); }, ExitCode::kCannotCreate));
}

}  // namespace
}  // namespace headtorch
