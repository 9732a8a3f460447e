// A folder that a command writes to: whole or not at all, by one command at a time, and never
// through a link.
#include "trace/base/files/output_folder.h"

#include <gmock/gmock.h>

#include "tests/unit/trace/base/output_fixture.h"
#include "trace/base/files/run_folder.h"

namespace stepscope::base {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class OutputFolderTest : public OutputFixture {
 protected:
  static void stage(OutputFolder& folder, std::string const& name, std::string const& text) {
    auto const staging = folder.staging();
    ASSERT_TRUE(staging) << staging.error().message;
    std::ofstream(*staging + "/" + name) << text;
  }
};

TEST_F(OutputFolderTest, FilesAreThereOnlyWhenAllAreWhole) {
  put("out/rank-0.stepscope", "old");
  put("out/rank-7.stepscope", "old");
  put("out/notes.txt", "mine");

  {
    auto folder = take_run_folder(out(), true);
    ASSERT_TRUE(folder) << folder.error().message;
    stage(*folder, "rank-0.stepscope", "new");
    stage(*folder, "rank-1.stepscope", "new");
    EXPECT_EQ(text_of("out/rank-0.stepscope"), "old");
    EXPECT_EQ(text_of("out/rank-1.stepscope"), "");
    ASSERT_TRUE(folder->publish(old_run_files(out())));
  }

  EXPECT_THAT(names(), ElementsAre("notes.txt", "rank-0.stepscope", "rank-1.stepscope"));
  EXPECT_EQ(text_of("out/rank-0.stepscope"), "new");
}

TEST_F(OutputFolderTest, OneThatIsNotFinishedLeavesWhatWasThere) {
  put("out/rank-0.stepscope", "old");

  {
    auto folder = take_run_folder(out(), true);
    ASSERT_TRUE(folder);
    stage(*folder, "rank-0.stepscope", "new");
  }

  EXPECT_THAT(names(), ElementsAre("rank-0.stepscope"));
  EXPECT_EQ(text_of("out/rank-0.stepscope"), "old");

  { auto const made = OutputFolder::take(out("a/b/c")); }
  EXPECT_THAT(names(), ElementsAre("rank-0.stepscope")) << "folders made for it go, too";
}

TEST_F(OutputFolderTest, IsTakenByOneCommandAtATime) {
  auto const first = take_run_folder(out(), false);
  ASSERT_TRUE(first);
  auto const second = take_run_folder(out(), true);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, AllOf(HasSubstr("is writing there"), HasSubstr(out())));
}

TEST_F(OutputFolderTest, LinksOfTheNamesOfRunFilesAreReplacedAndNotFollowed) {
  std::filesystem::create_symlink(path("outside.txt"), out("rank-0.stepscope"));
  std::filesystem::create_symlink(path("outside.txt"), out("rank-5.stepscope"));
  std::filesystem::create_symlink(path("nowhere"), out("report.html"));
  {
    auto folder = take_run_folder(out(), true);
    ASSERT_TRUE(folder);
    stage(*folder, "rank-0.stepscope", "new");
    ASSERT_TRUE(folder->publish(old_run_files(out())));
  }
  EXPECT_THAT(names(), ElementsAre("rank-0.stepscope"));
  EXPECT_EQ(text_of("out/rank-0.stepscope"), "new");
  EXPECT_EQ(text_of("outside.txt"), "precious");
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));

  std::filesystem::create_symlink(path("outside.txt"), out("rank-5.stepscope"));
  ASSERT_TRUE(prepare_run_folder(out(), true));
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(text_of("outside.txt"), "precious");
}

TEST_F(OutputFolderTest, AFolderThatHasTheNameOfAFileIsAnErrorAndNothingChanges) {
  put("out/rank-0.stepscope", "old");
  std::filesystem::create_directories(out("rank-1.stepscope"));

  {
    auto folder = take_run_folder(out(), true);
    ASSERT_TRUE(folder);
    for (char const* const name : {"rank-0.stepscope", "rank-1.stepscope"})
      stage(*folder, name, "new");
    auto const published = folder->publish(old_run_files(out()));
    ASSERT_FALSE(published);
    EXPECT_THAT(published.error().message, HasSubstr("rank-1.stepscope: is a folder"));
  }

  EXPECT_EQ(text_of("out/rank-0.stepscope"), "old");
}

TEST_F(OutputFolderTest, WhatIsNoRunKeepsItsReports) {
  put("out/report.html", "of somebody else");
  ASSERT_TRUE(prepare_run_folder(out(), true));
  EXPECT_THAT(names(), ElementsAre("report.html"));
}

TEST_F(OutputFolderTest, PermissionsAreThoseThatTheUmaskLeaves) {
  for (auto const& [mask, folder_mode, file_mode] :
       {std::tuple(0022U, 0755U, 0644U), std::tuple(0077U, 0700U, 0600U),
        std::tuple(0002U, 0775U, 0664U)}) {
    ::umask(mask);

    {
      auto folder = take_run_folder(out("run"), false);
      ASSERT_TRUE(folder);
      stage(*folder, "rank-0.stepscope", "new");
      ASSERT_TRUE(folder->publish());
    }

    EXPECT_EQ(mode_of(out("run")), folder_mode);
    EXPECT_EQ(mode_of(out("run/rank-0.stepscope")), file_mode);
    std::filesystem::remove_all(out("run"));
  }
}

TEST_F(OutputFolderTest, MessagesNameTheOutputAndNotTheHiddenFolder) {
  auto folder = OutputFolder::take(out());
  ASSERT_TRUE(folder);
  std::string const staging = *folder->staging();
  Error const error = folder->in_place({staging + "/a: disk full, " + staging + "/b"});
  EXPECT_EQ(error.message, out("a") + ": disk full, " + out("b"));
}

TEST_F(OutputFolderTest, WhatStepscopeHidesThereIsNoContent) {
  put("out/.stepscope-0123456789abcdef.tmp", "left");
  put("out/.stepscope.lock", "");
  EXPECT_TRUE(prepare_run_folder(out(), false));
}

}  // namespace
}  // namespace stepscope::base
