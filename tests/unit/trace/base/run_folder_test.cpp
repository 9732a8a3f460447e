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
