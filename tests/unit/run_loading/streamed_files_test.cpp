// Runs of files that are analyzed process by process: as those in memory, and without the processes
// that cannot be read.
#include "run_loading/streamed_files.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "tests/support/synthetic_run.h"
#include "tests/support/unreadable_trace.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::run_loading {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StreamedFilesTest : public ::testing::Test {
 protected:
  StreamedFilesTest() {
    std::filesystem::create_directories(folder_);
    auto const run =
        support::make_synthetic_run({.devices = 3, .steps = 12, .process_per_device = true});
    for (size_t i = 0; i < run.ranks.size(); ++i)
      EXPECT_TRUE(file::write_trace(run.ranks[i].trace, path(i)));
  }
  ~StreamedFilesTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(size_t rank) const {
    return (folder_ / ("rank-" + std::to_string(rank) + ".stepscope")).string();
  }
  [[nodiscard]] StreamedFiles::Sources sources() const {
    std::string const folder = folder_.string();
    auto opened = import::open_sources(std::span(&folder, 1));
    EXPECT_TRUE(opened);
    return std::make_shared<import::RunSources const>(std::move(*opened));
  }

  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("streamed_files_" + std::to_string(::getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::vector<int32_t> ranks_with_devices(analyzer::Analysis const& analysis) {
  std::vector<int32_t> ranks;
  for (auto const& device : analysis.devices) ranks.push_back(device.ref.rank_index);
  return ranks;
}

TEST_F(StreamedFilesTest, AreAnalyzedAsTheRunInMemory) {
  auto const run = import::open_run(folder_.string());
  ASSERT_TRUE(run);
  analyzer::Analysis const expected = analyzer::analyze(*run);

  for (bool const is_all : {true, false}) {
    auto files = StreamedFiles::open(sources(), {.is_all_analyzed = is_all});
    ASSERT_TRUE(files);
    ASSERT_TRUE(analyzer::has_marked_steps(files->skeleton()));
    auto const found = files->analyze();
    ASSERT_TRUE(found);

    EXPECT_THAT(files->unreadable(), ::testing::IsEmpty());
    EXPECT_THAT(files->source_of(), ElementsAre(0, 1, 2));
    EXPECT_EQ(ranks_with_devices(*found), ranks_with_devices(expected));
    EXPECT_EQ(found->steps.size(), expected.steps.size());
    EXPECT_EQ(found->collectives.size(), expected.collectives.size());
    EXPECT_EQ(found->gaps.size(), expected.gaps.size());
    EXPECT_EQ(found->findings.size(), expected.findings.size());

    for (size_t i = 0; i < found->devices.size(); ++i)
      EXPECT_EQ(found->devices[i].time.window_ns, expected.devices[i].time.window_ns);
    for (size_t i = 0; i < run->ranks.size(); ++i) {
      EXPECT_EQ(files->skeleton().ranks[i].trace.whole_event_count(),
                run->ranks[i].trace.event_count());
      EXPECT_LT(files->skeleton().ranks[i].trace.event_count(),
                run->ranks[i].trace.event_count() / 2);
    }
  }
}

TEST_F(StreamedFilesTest, WhatCannotBeReadIsLeftOutAndTold) {
  support::make_unreadable(path(1));
  auto files = StreamedFiles::open(sources(), {});
  ASSERT_TRUE(files) << files.error().message;

  EXPECT_THAT(files->unreadable(), ElementsAre(HasSubstr("rank-1.stepscope")));
  EXPECT_THAT(files->skeleton().notes, ElementsAre(HasSubstr("rank-1.stepscope")));
  EXPECT_THAT(files->source_of(), ElementsAre(0, 2));

  auto const analysis = files->analyze();
  ASSERT_TRUE(analysis) << analysis.error().message;
  EXPECT_THAT(ranks_with_devices(*analysis), ElementsAre(0, 1));
  EXPECT_FALSE(analysis->collectives.empty());
}

TEST_F(StreamedFilesTest, WhatCannotBeReadMayKeepItsPlace) {
  support::make_unreadable(path(1));
  auto files = StreamedFiles::open(sources(), {.unreadable = Unreadable::kWithoutEvents});
  ASSERT_TRUE(files) << files.error().message;

  EXPECT_THAT(files->unreadable(), ElementsAre(HasSubstr("rank-1.stepscope")));
  EXPECT_THAT(files->source_of(), ElementsAre(0, 1, 2));

  auto const analysis = files->analyze();
  ASSERT_TRUE(analysis) << analysis.error().message;
  EXPECT_THAT(ranks_with_devices(*analysis), ElementsAre(0, 2));
  EXPECT_EQ(files->skeleton().ranks[1].trace.info().rank, 1);
  EXPECT_EQ(files->skeleton().ranks[1].trace.event_count(), 0U);
}

TEST_F(StreamedFilesTest, WhereNothingCanBeReadItIsSaid) {
  for (size_t rank = 0; rank < 3; ++rank) support::make_unreadable(path(rank));
  for (Unreadable const unreadable : {Unreadable::kLeftOut, Unreadable::kWithoutEvents}) {
    auto const files = StreamedFiles::open(sources(), {.unreadable = unreadable});
    ASSERT_FALSE(files);
    EXPECT_THAT(files.error().message, HasSubstr("rank-0.stepscope"));
  }
}

TEST_F(StreamedFilesTest, WhoWaitsSeesHowFarItIsAndMayGiveUp) {
  auto const progress = std::make_shared<ReadingProgress>();
  auto files = StreamedFiles::open(sources(), {.progress = progress});
  ASSERT_TRUE(files);
  EXPECT_EQ(progress->processes_read, 3U);
  progress->given_up = true;
  EXPECT_FALSE(files->analyze());
  EXPECT_FALSE(StreamedFiles::open(sources(), {.progress = progress}));
}

TEST_F(StreamedFilesTest, AProcessIsReadWholeWithItsClock) {
  auto const opened = sources();
  auto const rank = read_process(opened->ranks[2]);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->offset_ns, opened->ranks[2].offset_ns);
  EXPECT_EQ(rank->file, opened->ranks[2].file);
  auto const counts = opened->ranks[2].source.event_counts();
  uint64_t events = 0;
  for (uint64_t const of_track : counts) events += of_track;
  EXPECT_EQ(rank->trace.event_count(), events);
}

}  // namespace
}  // namespace stepscope::run_loading
