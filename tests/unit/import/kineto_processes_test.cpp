// Whose events a file of PyTorch's profiler holds: the rank of its process in each group, and several processes that were merged.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/chrome/chrome_importer.h"

namespace stepscope::import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

base::Expected<model::Trace> read_kineto(std::string const& text, size_t block_bytes = 4096) {
  return read_chrome_trace(Input(std::as_bytes(std::span(text)), "trace.json"), block_bytes);
}

TEST(Kineto, ACollectiveThatDoesNotSayItsRankInTheGroupHasThatOfItsProcess) {
  auto const collective = [](std::string const& more, std::string const& ranks) {
    return R"json({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce(x)", "pid": 0, "tid": 7, "ts": 10, "dur": 4, "args": {"device": 0,
      "stream": 7, "Collective name": "allreduce", "Group size": 3, "Process Group Name": "1", "Seq": 4, "Process Group Ranks": ")json" +
           ranks + "\"" + more + "}}";
  };
  auto const trace = read_kineto(
      R"json({"schemaVersion": 1, "distributedInfo": {"rank": 5, "world_size": 8}, "traceEvents": [)json" +
          collective("", "[2, 5, 7]") + "," + collective(R"(, "Rank": 2)", "[2, 5, 7]") + "," + collective("", "[0, 1, 7]") +
          "," + collective(R"(, "Global rank start": 1, "Global rank stride": 2)", "[1, ...]") + "]}",
      200);
  ASSERT_TRUE(trace) << trace.error().message;
  std::vector<int32_t> ranks;
  for (auto const& detail : trace->details<model::CollectiveDetail>()) ranks.push_back(detail.rank);
  EXPECT_THAT(ranks, ElementsAre(1, 2, -1, 2));
}

TEST(Kineto, ProcessesThatWereMergedIntoOneFileAreTold) {
  auto const event = [](char const* category, int pid, int device) {
    return fmt::format(
        R"json({{"ph": "X", "cat": "{}", "name": "cudaLaunchKernel", "pid": {}, "tid": 7, "ts": 10, "dur": 4, "args": {{"device": {}, "stream": 7}}}},)json",
        category, pid, device);
  };
  auto const notes = [&](std::string const& events) {
    auto const trace = read_kineto(
        R"json({"traceEvents": [)json" + events +
            R"json({"ph": "M", "name": "process_name", "pid": 55, "tid": 0, "args": {"name": "rank 1: train.py"}}]})json",
        150);
    EXPECT_TRUE(trace);
    return trace ? trace->log().notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes(event("cuda_runtime", 55, 0) + event("kernel", 0, 0) + event("kernel", 1, 1)), ::testing::IsEmpty());
  auto const shared =
      notes(event("cuda_runtime", 54, 0) + event("cuda_runtime", 55, 0) + event("kernel", 0, 0) + event("kernel", 3, 0));
  EXPECT_THAT(shared, ElementsAre(::testing::AllOf(HasSubstr("process 54, rank 1: train.py (process 55)"),
                                                   HasSubstr("streams of device 0:"))));
  auto const apart =
      notes(event("cuda_runtime", 54, 0) + event("kernel", 0, 0) + event("cuda_runtime", 55, 0) + event("kernel", 1, 1));
  EXPECT_THAT(apart, ElementsAre(HasSubstr("each has devices of its own")));
}

TEST(Kineto, AFileThatSaysTwoRanksIsTakenAsTheFirst) {
  auto const trace = read_kineto(R"json({"distributedInfo": {"rank": 2, "world_size": 4}, "traceEvents": [
      {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}], "distributedInfo": {"rank": 3, "world_size": 4}})json");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->info().rank, 2);
  EXPECT_THAT(trace->log().notes, ElementsAre(HasSubstr("rank 2 and rank 3")));
}

}  // namespace
}  // namespace stepscope::import
