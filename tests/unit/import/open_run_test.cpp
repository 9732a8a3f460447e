#include "trace/import/open_run.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "trace/file/writer.h"
#include "trace/model/trace_builder.h"

namespace stepscope::import {
namespace {

class OpenRun : public ::testing::Test {
 protected:
  OpenRun() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~OpenRun() override { std::filesystem::remove_all(folder_); }
  void write(char const* name, int32_t rank, int64_t origin_epoch_ns) const {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    builder.info().origin_epoch_ns = origin_epoch_ns;
    builder.events(builder.add_track({})).add(model::EventKind::kRange, 0, 1, builder.intern("x"));
    ASSERT_TRUE(file::write_trace(std::move(builder).finish(), (folder_ / name).string()));
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_open_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(OpenRun, AFolderBecomesOneRunInRankOrderOnOneTimeAxis) {
  write("b.stepscope", 0, 5'000);
  write("a.stepscope", 1, 2'000);
  auto const run = open_run(folder_.string() + "/");
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  EXPECT_EQ(run->ranks[0].trace.info().rank, 0);
  EXPECT_EQ(run->ranks[0].offset_ns, 3'000);
  EXPECT_EQ(run->ranks[1].offset_ns, 0);
  EXPECT_EQ(run->clock.method, "epoch");
  EXPECT_EQ(run->name, folder_.filename().string());
}

TEST_F(OpenRun, AnUnreadableFileBesideAReadableOneIsToldAndLeftOut) {
  write("a.stepscope", 0, 1);
  std::ofstream(folder_ / "b.stepscope") << "garbage";
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks.size(), 1U);
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_NE(run->notes[0].find("b.stepscope"), std::string::npos);
}

TEST_F(OpenRun, OtherFilesOfTheFolderAreNotTried) {
  write("a.stepscope", 0, 1);
  std::ofstream(folder_ / "report.html") << "<html>";
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->notes.empty());
}

TEST_F(OpenRun, NothingReadableIsAnErrorThatNamesTheFile) {
  std::ofstream(folder_ / "b.stepscope") << "garbage";
  auto const run = open_run(folder_.string());
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("b.stepscope"), std::string::npos);
  EXPECT_FALSE(open_run((folder_ / "missing").string()));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_FALSE(open_run((folder_ / "empty").string()));
}

TEST_F(OpenRun, ARankWithoutItsStartTimeIsToldWhenRanksAreCompared) {
  write("a.stepscope", 0, 0);
  write("b.stepscope", 1, 7);
  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->notes.size(), 1U);
}

}  // namespace
}  // namespace stepscope::import
