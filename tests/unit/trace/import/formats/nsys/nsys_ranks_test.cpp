// The size of the job that reports of Nsight Systems come from: what MPI, NCCL and the launcher's
// environment say, and what the reports of one run say together.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "tests/support/nsys_export.h"
#include "trace/import/formats/nsys/nsys_importer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import::nsys {
namespace {

using support::nsys_process;
using support::nsys_thread;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kWorker = 50;

/// A report of one process with a kernel, and these statements.
std::string report_with(std::string const& sql) {
  return support::nsys_database(
      std::string(support::kNsysSchema) + "INSERT INTO StringIds VALUES (2, 'add');" +
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, "
                  "streamId, globalPid, demangledName, "
                  "shortName) VALUES (10, 15, 0, 1, 7, {}, 2, 2);",
                  nsys_process(kWorker)) +
      sql);
}
std::string launched_with(std::vector<std::string> const& variables) {
  std::string sql;
  for (std::string const& variable : variables)
    sql += "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', '" + variable +
           "');";
  return sql;
}
std::string reported_by_mpi(int rank, int size) {
  return fmt::format(
      "INSERT INTO MPI_RANKS VALUES ({}, {}); INSERT INTO MPI_COMMUNICATORS (rank, size) VALUES "
      "({}, {});",
      nsys_thread(kWorker, kWorker), rank, rank, size);
}
/// The process is a member of a communicator of NCCL.
std::string reported_by_nccl(int rank, int size) {
  return fmt::format(
      R"sql(INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, jsonText) VALUES
            (1, 2, 59, 'ncclCommInitRank', {}, 1, '{{"NCCL communicator ID": 77, "No. of ranks": {}, "Rank": {}, "CUDA device": 0}}');)sql",
      nsys_thread(kWorker, kWorker), size, rank);
}

/// Rank and world size.
std::pair<int32_t, int32_t> place_in_job(std::string const& sql) {
  std::string const bytes = report_with(sql);
  auto const traces = read_nsys_export(Input(std::as_bytes(std::span(bytes)), "report.sqlite"));
  EXPECT_TRUE(traces && traces->size() == 1);
  return traces ? std::pair(traces->front().info().rank, traces->front().info().world_size)
                : std::pair(-2, -2);
}

TEST(NsysRanks, TheJobIsAsLargeAsItsLauncherSaysWhereMpiTellsOfAPart) {
  EXPECT_THAT(place_in_job(reported_by_mpi(2, 4) + launched_with({"OMPI_COMM_WORLD_SIZE=16"})),
              Pair(2, 16));
  EXPECT_THAT(place_in_job(reported_by_mpi(2, 4) + launched_with({"SLURM_STEP_NUM_TASKS=16"})),
              Pair(2, 16));
  EXPECT_THAT(place_in_job(reported_by_mpi(2, 4) + launched_with({"OMPI_COMM_WORLD_SIZE=2"})),
              Pair(2, 4))
      << "of another launcher";
}

TEST(NsysRanks, AnAllocationIsBelievedWhereNothingElseTellsHowLargeTheJobIs) {
  EXPECT_THAT(place_in_job(reported_by_mpi(2, 4) + launched_with({"SLURM_NTASKS=16"})), Pair(2, 4));
  EXPECT_THAT(place_in_job(launched_with({"SLURM_PROCID=3", "SLURM_NTASKS=16"})), Pair(3, 16));
  EXPECT_THAT(
      place_in_job(launched_with({"SLURM_PROCID=3", "SLURM_NTASKS=16", "SLURM_STEP_NUM_TASKS=8"})),
      Pair(3, 8));
}

TEST(NsysRanks, ACommunicatorOfAPartOfTheJobIsNoJob) {
  EXPECT_THAT(place_in_job(reported_by_nccl(1, 4)), Pair(1, 4));
  EXPECT_THAT(place_in_job(reported_by_nccl(1, 4) + launched_with({"RANK=9", "WORLD_SIZE=16"})),
              Pair(9, 16));
  EXPECT_THAT(place_in_job(reported_by_nccl(1, 4) + launched_with({"RANK=9", "WORLD_SIZE=4"})),
              Pair(1, 4))
      << "there is no rank 9";

  EXPECT_THAT(
      place_in_job(reported_by_nccl(1, 4) + launched_with({"SLURM_PROCID=0", "SLURM_NTASKS=2"})),
      Pair(1, 4))
      << "the environment is that of a launcher on each host";
}

class NsysRun : public ::testing::Test {
 protected:
  NsysRun() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~NsysRun() override { std::filesystem::remove_all(folder_); }
  void write(char const* name, std::string const& sql) const {
    std::ofstream(folder_ / name, std::ios::binary) << report_with(sql);
  }
  [[nodiscard]] model::Run open() const {
    auto run = open_run(folder_.string());
    if (!run) ADD_FAILURE() << run.error().message;
    return run ? std::move(*run) : model::Run();
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      ("stepscope_nsys_run_" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(NsysRun, TheReportsOfOneRunSayTheSameWorldSizeAndMissNoRank) {
  write("a.sqlite", reported_by_mpi(0, 2));
  write("b.sqlite", launched_with({"SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=4"}));
  model::Run const run = open();
  ASSERT_EQ(run.ranks.size(), 2U);
  for (model::RankTrace const& rank : run.ranks) EXPECT_EQ(rank.trace.info().world_size, 4);
  EXPECT_THAT(analyzer::judge_trace_integrity(run).missing_ranks, ElementsAre(1, 3));
}

TEST_F(NsysRun, ReportsThatSayNothingAreTheWholeJob) {
  write("a.sqlite", "");
  write("b.sqlite", "");
  model::Run const run = open();
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_THAT(analyzer::judge_trace_integrity(run).missing_ranks, ::testing::IsEmpty());
}

}  // namespace
}  // namespace stepscope::import::nsys
