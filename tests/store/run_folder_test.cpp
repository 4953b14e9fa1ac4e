#include "src/store/run_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/store/manifest.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temp_folder.hpp"

namespace headtorch::store {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Every file and folder below `root`, relative to it.
std::set<std::string> tree(const fs::path& root) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    names.insert(entry.path().lexically_relative(root).string());
  return names;
}

class InFolder : public ::testing::Test {
 protected:
  InFolder() : before_(fs::current_path()) { fs::current_path(folder_.path()); }
  ~InFolder() override { fs::current_path(before_); }
  const fs::path& here() const { return folder_.path(); }

  test::TempFolder folder_;
  fs::path before_;
};
using RunFolderTest = InFolder;

RunFolder create(const fs::path& out, Occupied occupied = Occupied::kRefuse) {
  return RunFolder::create("reverse", out, occupied);
}

TEST_F(RunFolderTest, runs_are_numbered_from_001) {
  EXPECT_EQ(create("").path(), "runs/reverse-001");
  EXPECT_EQ(create("").path(), "runs/reverse-002");
  EXPECT_EQ(RunFolder::create("sort", "", Occupied::kRefuse).path(), "runs/sort-001");
  EXPECT_TRUE(fs::is_directory(here() / "runs/reverse-002"));
}

TEST_F(RunFolderTest, numbers_go_on_after_999) {
  for (int i = 1; i <= 999; ++i) fs::create_directories(fmt::format("runs/reverse-{:03}", i));
  EXPECT_EQ(create("").path(), "runs/reverse-1000");
}

TEST_F(RunFolderTest, two_at_once_never_get_the_same_number) {
  std::vector<std::vector<std::string>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 25; ++i) mine.push_back(create("").path().string());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : got) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 100);
}

TEST_F(RunFolderTest, out_is_created_or_taken_when_empty) {
  EXPECT_EQ(create("a/b/c").path(), "a/b/c");
  fs::create_directories("empty");
  EXPECT_NO_THROW(create("empty"));
  EXPECT_FALSE(fs::exists("runs"));
}

TEST_F(RunFolderTest, out_is_refused_when_occupied) {
  folder_.file("full/notes.txt", "mine");
  EXPECT_TRUE(test::fails([] { create("full"); }, ExitCode::kCannotCreate,
                          AllOf(HasSubstr("full"), HasSubstr("--overwrite"))));
  EXPECT_TRUE(test::fails([] { create("full", Occupied::kOverwrite); }, ExitCode::kCannotCreate,
                          HasSubstr("config.toml")));
  EXPECT_TRUE(test::fails([] { create("full/notes.txt"); }, ExitCode::kCannotCreate));
  EXPECT_TRUE(test::fails([] { create("full/notes.txt/below"); }, ExitCode::kCannotCreate));
  EXPECT_EQ(test::slurp("full/notes.txt"), "mine");
  folder_.file("runs", "a file where the folder should be");
  EXPECT_TRUE(test::fails([] { create(""); }, ExitCode::kCannotCreate, HasSubstr("runs")));
}

TEST_F(RunFolderTest, a_folder_in_use_is_refused_and_free_again_after) {
  {
    const RunFolder first = create("out");
    EXPECT_TRUE(test::fails([] { create("out"); }, ExitCode::kCannotCreate, HasSubstr("in use")));
    first.write("config.toml", "");
    EXPECT_TRUE(test::fails([] { create("out", Occupied::kOverwrite); }, ExitCode::kCannotCreate,
                            HasSubstr("in use")));
  }
  EXPECT_NO_THROW(create("out", Occupied::kOverwrite));
}

TEST_F(RunFolderTest, overwriting_removes_the_files_of_a_run_and_nothing_else) {
  {
    const RunFolder run = create("run");
    run.write("config.toml", "a");
    run.append_metrics("{}");
    run.write("result.json", "{}");
    run.write("report.html", "");
    run.write("events.out.tfevents.1.host", "");
    run.write("heatmaps/layer-0.png", "");
    run.write("heatmaps/layer-0-head-1.svg", "");
    run.write("heatmaps/step-00000010/layer-0.png", "");
    run.write("heatmaps/input-log/layer-0.csv", "");
    run.write("attention/step-00000010/layer-0.npy", "");
    run.write("attention/step-00000010/tokens.json", "");
    run.write("ablation/heads.csv", "");
    run.write("ablation/step-00000010/removal.png", "");
    run.write_checkpoint(10, {{"model.safetensors", "w"}, {"trainer.safetensors", "t"}});
  }
  folder_.file("run/checkpoints/.step-00000020-1-0/model.safetensors.tmp-1-1", "cut short by SIGKILL");
  EXPECT_TRUE(test::fails([] { create("run"); }, ExitCode::kCannotCreate));
  folder_.file("run/result.json.tmp-1-1", "cut short by SIGKILL");
  EXPECT_EQ(tree("run").size(), 28);

  for (const char* mine :
       {"run/notes.txt", "run/heatmaps/mine.png", "run/ablation/mine.csv", "run/attention/mine/layer-0.npy"})
    folder_.file(mine, "mine");
  folder_.file("elsewhere/layer-0.png", "mine");
  fs::create_directory_symlink(here() / "elsewhere", "run/heatmaps/layer-link");
  fs::create_directory_symlink(here() / "elsewhere", "run/checkpoints/step-00000030");
  create("run", Occupied::kOverwrite);
  EXPECT_THAT(tree("run"),
              ElementsAre("ablation", "ablation/mine.csv", "attention", "attention/mine",
                          "attention/mine/layer-0.npy", "checkpoints", "checkpoints/step-00000030",
                          "heatmaps", "heatmaps/mine.png", "notes.txt"));
  EXPECT_EQ(test::slurp("elsewhere/layer-0.png"), "mine");
}

TEST_F(RunFolderTest, opening_needs_a_run) {
  create("run").write("config.toml", "");
  EXPECT_EQ(RunFolder::open("run").path(), "run");
  fs::create_directories("other");
  fs::create_directories("odd/config.toml");
  for (const char* path : {"absent", "other", "odd", "run/config.toml", ""}) {
    EXPECT_TRUE(
        test::fails([&] { RunFolder::open(path); }, ExitCode::kInputMissing, HasSubstr("config.toml")));
  }
}

TEST_F(RunFolderTest, files_are_written_inside_the_run_only) {
  const RunFolder run = create("run");
  run.write("heatmaps/layer-0.png", std::string("a\0b", 3));
  EXPECT_EQ(test::slurp("run/heatmaps/layer-0.png"), std::string("a\0b", 3));
  run.write("heatmaps/layer-0.png", "new");
  EXPECT_EQ(test::slurp("run/heatmaps/layer-0.png"), "new");
  for (const char* path : {"../outside", "/tmp/outside", "heatmaps/../../outside", ""}) {
    EXPECT_TRUE(test::fails([&] { run.write(path, "x"); }, ExitCode::kInternal));
  }
  EXPECT_THAT(tree(here()), ElementsAre("run", "run/heatmaps", "run/heatmaps/layer-0.png"));
}

TEST_F(RunFolderTest, permissions_follow_the_umask) {
  const mode_t before = ::umask(027);
  create("run").write_checkpoint(1, {{"model.safetensors", ""}});
  ::umask(before);
  EXPECT_EQ(fs::status("run").permissions(), static_cast<fs::perms>(0750));
  EXPECT_EQ(fs::status("run/checkpoints/step-00000001").permissions(), static_cast<fs::perms>(0750));
  EXPECT_EQ(fs::status("run/checkpoints/step-00000001/model.safetensors").permissions(),
            static_cast<fs::perms>(0640));
}

TEST_F(RunFolderTest, metrics_grow_line_by_line) {
  const RunFolder run = create("run");
  run.append_metrics(R"({"step":1})");
  run.append_metrics(R"({"step":2})");
  EXPECT_EQ(test::slurp("run/metrics.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
  EXPECT_TRUE(test::fails([&] { run.append_metrics("a\nb"); }, ExitCode::kInternal));
}

TEST_F(RunFolderTest, checkpoints_are_read_as_written) {
  const RunFolder run = create("run");
  const std::string weights("w\0\xff", 3);
  run.write_checkpoint(600, {{"model.safetensors", weights}, {"trainer.safetensors", ""}});
  run.write_checkpoint(7, {{"model.safetensors", "seven"}});
  EXPECT_THAT(run.checkpoint_steps(), ElementsAre(7, 600));
  EXPECT_EQ(run.read_checkpoint_file(600, "model.safetensors"), weights);
  EXPECT_EQ(run.read_checkpoint_file(600, "trainer.safetensors"), "");
  EXPECT_THAT(tree("run"), ::testing::Contains("checkpoints/step-00000600/manifest.json"));
  EXPECT_EQ(tree("run/checkpoints").size(), 2 + 3 + 2);
}

TEST_F(RunFolderTest, a_checkpoint_of_the_same_step_is_replaced) {
  const RunFolder run = create("run");
  run.write_checkpoint(5, {{"model.safetensors", "old"}, {"trainer.safetensors", "old"}});
  run.write_checkpoint(5, {{"model.safetensors", "new"}});
  EXPECT_EQ(run.read_checkpoint_file(5, "model.safetensors"), "new");
  EXPECT_THAT(tree("run/checkpoints"),
              ElementsAre("step-00000005", "step-00000005/manifest.json", "step-00000005/model.safetensors"));
}

TEST_F(RunFolderTest, steps_are_listed_when_their_folders_are_named_so) {
  const RunFolder run = create("run");
  EXPECT_TRUE(run.checkpoint_steps().empty());
  for (const char* name : {"step-00000012", "step-123456789", "step-12", "step-00000012x",
                           ".step-00000013-1-0", "other", "step-"}) {
    fs::create_directories(fs::path("run/checkpoints") / name);
  }
  folder_.file("run/checkpoints/step-00000099", "a file");
  EXPECT_THAT(run.checkpoint_steps(), ElementsAre(12, 123456789));
  EXPECT_EQ(step_name(600), "step-00000600");
  EXPECT_EQ(step_name(123456789), "step-123456789");
}

TEST_F(RunFolderTest, damage_anywhere_in_a_checkpoint_is_noticed_and_named) {
  const RunFolder run = create("run");
  const std::string weights = "twelve bytes";
  run.write_checkpoint(3, {{"model.safetensors", weights}});
  const fs::path model = "run/checkpoints/step-00000003/model.safetensors";
  const auto read = [&] { run.read_checkpoint_file(3, "model.safetensors"); };
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::string flipped = weights;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    folder_.file(model, flipped);
    EXPECT_TRUE(
        test::fails(read, ExitCode::kBadData, AllOf(HasSubstr("model.safetensors"), HasSubstr("checksum"))));
    folder_.file(model, weights.substr(0, i));
    EXPECT_TRUE(test::fails(read, ExitCode::kBadData,
                            AllOf(HasSubstr("model.safetensors"), HasSubstr("expected 12"))));
  }
  folder_.file(model, weights + "x");
  EXPECT_TRUE(test::fails(read, ExitCode::kBadData, HasSubstr("13 bytes")));
  fs::remove(model);
  EXPECT_TRUE(test::fails(read, ExitCode::kInputMissing, HasSubstr("model.safetensors")));
}

TEST_F(RunFolderTest, damage_in_a_manifest_never_gives_other_bytes) {
  const RunFolder run = create("run");
  run.write_checkpoint(3, {{"model.safetensors", "weights"}});
  const fs::path path = "run/checkpoints/step-00000003/manifest.json";
  const std::string good = test::slurp(path);
  const auto read = [&] { return run.read_checkpoint_file(3, "model.safetensors"); };
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 3, 6}) {
      std::string flipped = good;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      folder_.file(path, flipped);
      try {
        EXPECT_EQ(read(), "weights");  // for example another kind of white space
      } catch (const DataError& error) {
        ++refused;
        EXPECT_THAT(error.what(), HasSubstr("run/checkpoints/step-00000003/m"));
      }
    }
    folder_.file(path, good.substr(0, i));
    if (i + 2 < good.size()) {
      EXPECT_TRUE(test::fails(read, ExitCode::kBadData, HasSubstr("manifest.json")));
    }
  }
  EXPECT_GT(refused, 200);
  for (const char* odd :
       {"", "[]", "null", "{}", R"({"format":1,"step":3,"files":[]})",
        R"({"format":1,"step":3,"files":{"model.safetensors":1}})",
        R"({"format":1,"step":3,"files":{"model.safetensors":{"bytes":"7","xxh3":"a"}}})"}) {
    folder_.file(path, odd);
    EXPECT_TRUE(test::fails(read, ExitCode::kBadData, HasSubstr("manifest.json"))) << odd;
  }
  for (const auto& [key, message] : {std::pair("format", "format 99"), std::pair("step", "step 99")}) {
    auto other = nlohmann::json::parse(good);  // right in everything else
    other[key] = 99;
    folder_.file(path, other.dump());
    EXPECT_TRUE(test::fails(read, ExitCode::kBadData, HasSubstr(message)));
  }
  fs::remove(path);
  EXPECT_TRUE(test::fails(read, ExitCode::kInputMissing, HasSubstr("manifest.json")));
}

TEST_F(RunFolderTest, names_in_a_checkpoint_are_never_paths) {
  const RunFolder run = create("run");
  for (const std::string& name :
       {std::string("../x"), std::string("a/b"), std::string("/x"), std::string(".."), std::string("."),
        std::string(), std::string("manifest.json"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(test::fails([&] { run.write_checkpoint(1, {{name, "x"}}); }, ExitCode::kInternal));
    EXPECT_TRUE(test::fails([&] { run.read_checkpoint_file(1, name); }, ExitCode::kInternal));
  }
  EXPECT_THAT(tree("run"), ElementsAre("checkpoints"));
  EXPECT_TRUE(test::fails([] { RunFolder::create("../x", "", Occupied::kRefuse); }, ExitCode::kInternal));
}

TEST_F(RunFolderTest, a_checkpoint_that_cannot_be_written_leaves_nothing) {
  const RunFolder run = create("run");
  folder_.file("run/checkpoints", "a file in the way");
  EXPECT_TRUE(test::fails(
      [&] {
        run.write_checkpoint(1, {{"model.safetensors", "x"}});
      },
      ExitCode::kCannotCreate));
  fs::remove("run/checkpoints");
  folder_.file("run/checkpoints/step-00000001", "a file where the checkpoint should be");
  EXPECT_TRUE(test::fails(
      [&] {
        run.write_checkpoint(1, {{"model.safetensors", "x"}});
      },
      ExitCode::kInputOutput));
  EXPECT_THAT(tree("run"), ElementsAre("checkpoints", "checkpoints/step-00000001"));
}

TEST_F(RunFolderTest, killed_at_any_moment_a_save_leaves_only_whole_checkpoints) {
  const RunFolder run = create("run");
  const std::string large(200000, 'w');
  std::size_t whole = 0;
  for (int round = 0; round < 20; ++round) {
    int first_saved[2];
    ASSERT_EQ(::pipe(first_saved), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t step = round * 1000;; ++step) {
        run.write_checkpoint(step,
                             {{"model.safetensors", large}, {"trainer.safetensors", std::to_string(step)}});
        if (::write(first_saved[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char saved = 0;
    ASSERT_EQ(::read(first_saved[0], &saved, 1), 1);
    ::usleep(static_cast<useconds_t>(1000 + 700 * round));
    ::kill(child, SIGKILL);
    ::close(first_saved[0]);
    ::close(first_saved[1]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  for (const std::int64_t step : run.checkpoint_steps()) {
    EXPECT_EQ(run.read_checkpoint_file(step, "model.safetensors"), large);
    EXPECT_EQ(run.read_checkpoint_file(step, "trainer.safetensors"), std::to_string(step));
    ++whole;
  }
  EXPECT_GE(whole, 20);
}

TEST(Manifest, checksums_are_those_of_the_xxhash_package) {
  const auto golden =
      nlohmann::json::parse(test::slurp(std::string(HEADTORCH_SOURCE_DIR) + "/tests/golden/safetensors.json"))
          .at("xxh3_64");
  ASSERT_EQ(golden.size(), 4);
  for (const auto& [text, hash] : golden.items()) {
    EXPECT_EQ(measure(text).xxh3, hash);
    EXPECT_EQ(measure(text).bytes, text.size());
  }
}

}  // namespace
}  // namespace headtorch::store
