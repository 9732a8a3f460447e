// Which files are one run: folders in folders, windows of one job, captures of different times.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/open/open_run.h"

namespace stepscope::import {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "stepscope-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A trace of one kernel at `at_s` after some time in 2023; `rank` < 0: it says none; `at_s` < 0:
  /// by no known clock.
  void write(std::string const& name, int32_t rank, double at_s, int pid = 100) const {
    fs::create_directories((folder_ / name).parent_path());
    std::string const info =
        rank >= 0
            ? fmt::format(R"json("distributedInfo": {{"rank": {}, "world_size": 2}}, )json", rank)
            : "";
    std::string const base =
        at_s >= 0 ? R"json("baseTimeNanoseconds": 1700000000000000000, )json" : "";

    std::ofstream(folder_ / name) << fmt::format(
        R"json({{"schemaVersion": 1, {}{}"deviceProperties": [{{"id": 0, "name": "GPU"}}], "traceEvents": [
{{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": {}, "tid": 1, "ts": {:.1f}, "dur": 10}},
{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {:.1f}, "dur": 10, "args": {{"device": 0, "stream": 7}}}}]}})json",
        info, base, pid, std::max(at_s, 0.0) * 1e6, std::max(at_s, 0.0) * 1e6 + 5);
  }
  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  static std::vector<int32_t> ranks_of(RunSources const& run) {
    std::vector<int32_t> ranks;
    for (RankSource const& rank : run.ranks) ranks.push_back(rank.source.info().rank);
    return ranks;
  }
  static std::string notes_of(RunSources const& run) {
    return fmt::format("{}", fmt::join(run.notes, "\n"));
  }
  base::Expected<RunSources> open(std::vector<std::string> const& names,
                                  bool is_one_run = false) const {
    std::vector<std::string> paths;
    for (std::string const& name : names) paths.push_back(path(name));
    return open_sources(paths, {}, is_one_run);
  }

  fs::path folder_;
};

TEST_F(RunFilesTest, TheNewestOfNumberedFoldersIsOpenedAndTheOthersAreNamed) {
  for (char const* const folder : {"iteration_9", "iteration_10"})
    for (int rank = 0; rank < 2; ++rank)
      write(fmt::format("p/{}/rank{}_trace.json", folder, rank), rank, 1, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  EXPECT_THAT(run->ranks[0].file, HasSubstr("iteration_10"));
  EXPECT_THAT(notes_of(*run), HasSubstr("iteration_9"));
}

TEST_F(RunFilesTest, FoldersOfRanksAreOneRun) {
  for (int const rank : {0, 2, 10})
    write(fmt::format("p/rank_{}/trace.json", rank), -1, 1, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 2, 10));
}

TEST_F(RunFilesTest, TheNewestCaptureMayBeOfFoldersOfRanks) {
  for (char const* const step : {"step_9", "step_10"})
    for (int const rank : {0, 1})
      write(fmt::format("p/{}/rank_{}/trace.json", step, rank), -1, 1, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  EXPECT_THAT(run->ranks[0].file, HasSubstr("step_10"));
}

TEST_F(RunFilesTest, FoldersOfDevicesAndNodesAreOneRun) {
  for (char const* const pattern :
       {"gpu{}/trace.json", "device_{}/trace.json", "worker_{}/profile/trace.json",
        "GPU{}/prof/trace.json", "{}/trace.json",
        "rank{}_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", "node0_gpu{}/trace.json"}) {
    fs::remove_all(folder_ / "p");
    for (int const rank : {0, 1, 10, 2})
      write("p/" + fmt::format(fmt::runtime(pattern), rank), -1, 1, 100 + rank);

    auto const run = open({"p"});
    ASSERT_TRUE(run) << pattern << ": " << run.error().message;
    EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1, 2, 10)) << pattern;
  }
}

TEST_F(RunFilesTest, OfARankWithSeveralCapturesTheNewestIsTaken) {
  for (int const rank : {0, 1})
    for (char const* const step : {"step_9", "step_10"})
      write(fmt::format("p/gpu{}/{}/trace.json", rank, step), -1, 1, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  for (RankSource const& rank : run->ranks) EXPECT_THAT(rank.file, HasSubstr("step_10"));
}

TEST_F(RunFilesTest, FoldersOfMoreAndMoreDevicesAreNoRanks) {
  write("p/gpu1/a.json", -1, 1);
  write("p/gpu2/a.json", -1, 1);
  write("p/gpu2/b.json", -1, 1);
  auto const run = open({"p"});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ranks.size(), 2U);
  EXPECT_THAT(notes_of(*run), HasSubstr("gpu1"));
}

TEST_F(RunFilesTest, TheNumberInTheNameIsTheRankAndIsSaidToBeAGuess) {
  for (int const rank : {0, 1, 10, 2}) write(fmt::format("p/{}.json", rank), -1, 1, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run);
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1, 2, 10));
  EXPECT_THAT(notes_of(*run), HasSubstr("by the number in its name"));
}

TEST_F(RunFilesTest, AConstantRankInTheNamesIsNotThatOfAll) {
  for (int const tp : {0, 1})
    write(fmt::format("p/dp0_pp0_tp{}_ep0_rank0.json", tp), -1, 1, 100 + tp);
  EXPECT_THAT(ranks_of(*open({"p"})), ElementsAre(0, 1));
  // What a trace says itself counts.
  write("q/dp0_pp0_tp0_ep0_rank0.json", 1, 1, 100);
  write("q/dp0_pp0_tp1_ep0_rank0.json", 0, 1, 101);
  auto const run = open({"q"});
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  EXPECT_THAT(run->ranks[0].file, HasSubstr("tp1"));
}

TEST_F(RunFilesTest, StagesOfAServerAreTwoCaptures) {
  for (int const rank : {0, 1})
    for (char const* const stage : {"DECODE", "EXTEND"})
      write(fmt::format("p/1769071195.66-TP-{}-{}.trace.json", rank, stage), -1, -1);
  auto const run = open({"p"});
  ASSERT_TRUE(run);
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  for (RankSource const& rank : run->ranks) EXPECT_THAT(rank.file, HasSubstr("DECODE"));
  EXPECT_THAT(notes_of(*run), HasSubstr("EXTEND"));
}

TEST_F(RunFilesTest, OtherFoldersAreNamedToChooseFrom) {
  write("p/before/trace.json", 0, 1);
  write("p/after/trace.json", 0, 1);
  auto const run = open({"p"});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("after, before"));
}

TEST_F(RunFilesTest, WindowsOfTheSameProcessesAreOneJob) {
  for (int const window : {0, 1, 2})
    for (int rank = 0; rank < 2; ++rank)
      write(fmt::format("p/node_{}.17000000{}0000.pt.trace.json", 100 + rank, window), rank,
            window * 600, 100 + rank);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(notes_of(*run), HasSubstr("2 ranks were recorded in up to 3 windows"));
}

TEST_F(RunFilesTest, WindowsOfAProcessThatSaysNoRankHaveOne) {
  for (int const window : {0, 1})
    for (int pid : {100, 101})
      write(fmt::format("p/node_{}.17000000{}0000.pt.trace.json", pid, window), -1, window * 600,
            pid);
  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 0, 1, 1));
}

TEST_F(RunFilesTest, OfTwoCapturesInAFolderTheNewestIsOpened) {
  for (int rank = 0; rank < 2; ++rank) {
    write(fmt::format("p/new_rank{}.json", rank), rank, 3600, 200 + rank);
    write(fmt::format("p/old_rank{}.json", rank), rank, 0, 100 + rank);
  }

  auto const run = open({"p"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(ranks_of(*run), ElementsAre(0, 1));
  EXPECT_THAT(run->ranks[0].file, HasSubstr("new_rank0"));
  EXPECT_THAT(notes_of(*run), HasSubstr("old_rank0.json, old_rank1.json"));

  auto const all = open({"p"}, true);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ranks.size(), 4U);
}

TEST_F(RunFilesTest, FilesOfDifferentTimesThatAreNamedAreNotMerged) {
  write("a.json", -1, 0, 100);
  write("b.json", -1, 3600, 200);
  auto const run = open({"a.json", "b.json"});
  ASSERT_FALSE(run);
  for (char const* const way : {"compare", "--series", "--one-run"})
    EXPECT_THAT(run.error().message, HasSubstr(way));
  EXPECT_TRUE(open({"a.json", "b.json"}, true));
}

TEST_F(RunFilesTest, ClocksOfDifferentHostsAndClocksWithoutEpochAreNoEvidence) {
  // Half a minute apart, and of different ranks.
  write("a/rank0.json", 0, 0, 100);
  write("a/rank1.json", 1, 30, 200);
  EXPECT_EQ(open({"a"})->ranks.size(), 2U);
  write("b/rank0.json", 0, -1, 100);
  write("b/rank1.json", 1, -1, 200);
  EXPECT_EQ(open({"b"})->ranks.size(), 2U);
}

}  // namespace
}  // namespace stepscope::import
