#include "trace/base/files/run_folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::base {
namespace {

namespace fs = std::filesystem;

class RunFolder : public testing::Test {
 protected:
  RunFolder() { fs::remove_all(folder_); }
  ~RunFolder() override { fs::remove_all(folder_); }
  void put(std::string const& name) const {
    fs::create_directories(folder_);
    std::ofstream(folder_ / name) << "content";
  }
  [[nodiscard]] bool has(std::string const& name) const { return fs::exists(folder_ / name); }

  fs::path folder_ = fs::path(testing::TempDir()) /
                     (std::string("stepscope_run_folder_") +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RunFolder, IsMadeWithItsParents) {
  EXPECT_EQ(prepare_run_folder((folder_ / "a/b").string(), false), true);
  EXPECT_EQ(prepare_run_folder((folder_ / "a/b").string(), false), false)
      << "an empty one is taken as it is";
}

TEST_F(RunFolder, WithContentIsRefusedWithoutForce) {
  put("notes.txt");
  auto const prepared = prepare_run_folder(folder_.string(), false);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, testing::HasSubstr("--force"));
}

TEST_F(RunFolder, ForceRemovesTheRunAndNothingElse) {
  for (char const* const name :
       {"rank-0.stepscope", "truth.json", "report.html", "notes.txt", "my.json"})
    put(name);
  ASSERT_TRUE(prepare_run_folder(folder_.string(), true));
  for (char const* const name : {"rank-0.stepscope", "truth.json", "report.html"})
    EXPECT_FALSE(has(name)) << name;
  for (char const* const name : {"notes.txt", "my.json"}) EXPECT_TRUE(has(name)) << name;
}

TEST_F(RunFolder, HasWindowsInFoldersNamedForTheirSteps) {
  EXPECT_EQ(name_of_window(100, 105), "steps-100-105");
  EXPECT_EQ(name_of_window(7, INT64_MAX), "steps-7-end");
  for (char const* const name :
       {"steps-1000-1005", "steps-20-end", "steps-3-5", "steps-", "steps-a-b", "steps-3",
        "steps-3-", "steps-3-5x", "window-x", "window-0", "at-noon", "at-20261128-12000x"})
    fs::create_directories(folder_ / name);
  put("steps-1-2");

  EXPECT_THAT(
      windows_in(folder_.string()),
      testing::ElementsAre((folder_ / "steps-3-5").string(), (folder_ / "steps-20-end").string(),
                           (folder_ / "steps-1000-1005").string()));
  EXPECT_TRUE(windows_in((folder_ / "nowhere").string()).empty());
}

TEST_F(RunFolder, finds_windows_by_number_and_by_time) {
  EXPECT_EQ(name_of_code_window(12), "window-12");
  EXPECT_EQ(name_of_timed_window(1'795'867'200), "at-20261128-120000");
  EXPECT_EQ(name_of_ring(-1, 1'795'867'200), "ring-at-20261128-120000");

  for (char const* const name :
       {"window-10", "window-2", "at-20261128-120000", "at-20261127-235959"})
    fs::create_directories(folder_ / name);
  EXPECT_THAT(
      windows_in(folder_.string()),
      testing::ElementsAre((folder_ / "window-2").string(), (folder_ / "window-10").string(),
                           (folder_ / "at-20261127-235959").string(),
                           (folder_ / "at-20261128-120000").string()));
}

TEST_F(RunFolder, ForceRemovesTheWindowsOfTheRun) {
  put("notes.txt");
  for (char const* const window : {"steps-3-5", "steps-10-12"}) {
    fs::create_directories(folder_ / window);
    put(std::string(window) + "/rank-0.stepscope");
  }
  put("steps-10-12/notes.txt");
  EXPECT_FALSE(prepare_run_folder(folder_.string(), false));

  ASSERT_TRUE(prepare_run_folder(folder_.string(), true));
  EXPECT_FALSE(has("steps-3-5"));
  EXPECT_FALSE(has("steps-10-12/rank-0.stepscope"));
  EXPECT_TRUE(has("steps-10-12/notes.txt"));
  EXPECT_TRUE(has("notes.txt"));
}

TEST_F(RunFolder, SharedOneIsTakenByAnOwnFileInAWindow) {
  fs::create_directories(folder_ / "steps-3-5");
  put("steps-3-5/rank-0.stepscope");
  auto const own = [](std::string_view name) { return name == "rank-1.stepscope"; };
  EXPECT_TRUE(prepare_shared_run_folder(folder_.string(), false, own));
  put("steps-3-5/rank-1.stepscope");
  EXPECT_FALSE(prepare_shared_run_folder(folder_.string(), false, own));
  EXPECT_TRUE(prepare_shared_run_folder(folder_.string(), true, own));
  EXPECT_TRUE(has("steps-3-5/rank-0.stepscope"));
  EXPECT_FALSE(has("steps-3-5/rank-1.stepscope"));
}

TEST_F(RunFolder, SharedOneCountsOnlyOwnFiles) {
  put("rank-0.stepscope");
  auto const own = [](std::string_view name) { return name == "rank-1.stepscope"; };
  EXPECT_TRUE(prepare_shared_run_folder(folder_.string(), false, own));
  put("rank-1.stepscope");
  EXPECT_FALSE(prepare_shared_run_folder(folder_.string(), false, own));
  EXPECT_TRUE(prepare_shared_run_folder(folder_.string(), true, own));
  EXPECT_TRUE(has("rank-0.stepscope"));
  EXPECT_FALSE(has("rank-1.stepscope"));
}

TEST_F(RunFolder, AFileOrNoNameIsRefused) {
  put("file");
  EXPECT_FALSE(prepare_run_folder((folder_ / "file").string(), true));
  EXPECT_FALSE(prepare_run_folder("", true));
}

}  // namespace
}  // namespace stepscope::base
