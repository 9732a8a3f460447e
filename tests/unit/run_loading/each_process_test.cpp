// Work on each process gives the same in one program and in a team of several, whatever cannot be
// read.
#include "run_loading/each_process.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "run_loading/analyzed_files.h"
#include "run_loading/team/helper.h"
#include "tests/support/fake_mpi.h"
#include "tests/support/synthetic_run.h"
#include "trace/file/writer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::run_loading {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kRanks = 3;

/// What a process answers: the question, and something that needs all events and the run's clock.
base::Expected<std::string> sum_of_starts(std::string_view question, model::Trace const& trace,
                                          int64_t offset_ns) {
  if (question == "refuse") return base::fail("rank {} refuses", trace.info().rank);
  int64_t sum = 0;
  for (int64_t const start : trace.columns().start) sum += start + offset_ns;
  return fmt::format("{} of rank {}: {}", question, trace.info().rank, sum);
}

class EachProcessTest : public ::testing::Test {
 protected:
  EachProcessTest() {
    std::filesystem::create_directories(folder_);
    support::SyntheticOptions job{.devices = kRanks, .steps = 4};
    job.process_per_device = true;
    auto const run = support::make_synthetic_run(job);
    for (size_t rank = 0; rank < kRanks; ++rank)
      EXPECT_TRUE(file::write_trace(run.ranks[rank].trace, path(rank)));
  }
  ~EachProcessTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(size_t rank) const {
    return (folder_ / fmt::format("rank-{}.stepscope", rank)).string();
  }

  /// Answers and notes, or the error.
  [[nodiscard]] std::vector<std::string> worked(std::string const& question, Team* team) const {
    auto const sources = open_by_size({folder_.string()}, false, team);
    EXPECT_TRUE(sources);
    auto const worked = work_on_each_process(*sources, {question, {}}, sum_of_starts, team);
    if (!worked) return {worked.error().message};

    std::vector<std::string> all = worked->answers;
    all.insert(all.end(), worked->run.notes.begin(), worked->run.notes.end());
    for (model::RankTrace const& rank : worked->run.ranks) {
      all.push_back(fmt::format("{} {}", rank.trace.info().rank, rank.file));
      for (std::string const& note : rank.trace.log().notes) all.push_back(note);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> worked_by_team(uint32_t programs,
                                                        std::string const& question) const {
    std::vector<std::string> all;

    mpi::testing::as_processes(programs, std::chrono::seconds(60),
                               [&](std::shared_ptr<mpi::Processes> const& processes) {
                                 if (processes->rank() > 0) {
                                   EXPECT_TRUE(help(*processes, sum_of_starts));
                                   return;
                                 }
                                 Team team(processes, 1);
                                 all = worked(question, &team);
                               });
    return all;
  }

 private:
  std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) /
                                  ("each_process_" + std::to_string(::getpid()) + "_" +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(EachProcessTest, AnswersAreThoseOfTheWholeRunInItsOrder) {
  auto const run = import::open_run(std::filesystem::path(path(0)).parent_path().string());
  ASSERT_TRUE(run);
  std::vector<std::string> expected;
  for (model::RankTrace const& rank : run->ranks)
    expected.push_back(*sum_of_starts("starts", rank.trace, rank.offset_ns));

  auto const alone = worked("starts", nullptr);
  ASSERT_GE(alone.size(), expected.size());
  EXPECT_EQ(std::vector(alone.begin(), alone.begin() + kRanks), expected);
  // The last time one of them has no file.
  for (uint32_t const programs : {2U, 3U, 4U})
    EXPECT_EQ(worked_by_team(programs, "starts"), alone) << programs;
}

TEST_F(EachProcessTest, WhatCannotBeReadIsNamedAndTheOthersAnswer) {
  // One is cut in the midst, and one is no trace at all.
  std::filesystem::resize_file(path(1), std::filesystem::file_size(path(1)) / 2);
  std::filesystem::resize_file(path(2), 3);
  auto const alone = worked("starts", nullptr);
  EXPECT_THAT(alone, ::testing::Contains(HasSubstr("rank-2.stepscope")));
  for (uint32_t const programs : {2U, 3U})
    EXPECT_EQ(worked_by_team(programs, "starts"), alone) << programs;
}

TEST_F(EachProcessTest, WhereNoProcessAnswersTheFirstErrorIsSaid) {
  EXPECT_THAT(worked("refuse", nullptr), ElementsAre("rank 0 refuses"));
  EXPECT_THAT(worked_by_team(3, "refuse"), ElementsAre("rank 0 refuses"));
}

}  // namespace
}  // namespace stepscope::run_loading
