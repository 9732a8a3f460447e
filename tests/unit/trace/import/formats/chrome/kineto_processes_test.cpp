// Whose events a file of PyTorch's profiler holds: the rank of its process in each group, and
// several processes that were merged.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/formats/chrome/chrome_importer.h"

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
          collective("", "[2, 5, 7]") + "," + collective(R"(, "Rank": 2)", "[2, 5, 7]") + "," +
          collective("", "[0, 1, 7]") + "," +
          collective(R"(, "Global rank start": 1, "Global rank stride": 2)", "[1, ...]") + "]}",
      200);
  ASSERT_TRUE(trace) << trace.error().message;

  std::vector<int32_t> ranks;
  for (auto const& detail : trace->details<model::CollectiveDetail>()) ranks.push_back(detail.rank);
  EXPECT_THAT(ranks, ElementsAre(1, 2, -1, 2));
}

TEST(Kineto, ProcessesThatWereMergedIntoOneFileAreTold) {
  auto const event = [](char const* category, int pid, int device, int at = 10) {
    return fmt::format(
        R"json({{"ph": "X", "cat": "{}", "name": "cudaLaunchKernel", "pid": {}, "tid": 7, "ts": {}, "dur": 4, "args": {{"device": {}, "stream": 7}}}},)json",
        category, pid, at, device);
  };
  auto const notes = [&](std::string const& events) {
    auto const trace = read_kineto(
        R"json({"traceEvents": [)json" + events +
            R"json({"ph": "M", "name": "process_name", "pid": 55, "tid": 0, "args": {"name": "rank 1: train.py"}}]})json",
        150);
    EXPECT_TRUE(trace);
    return trace ? trace->log().notes : std::vector<std::string>();
  };

  EXPECT_THAT(notes(event("cuda_runtime", 55, 0) + event("kernel", 0, 0) + event("kernel", 1, 1)),
              ::testing::IsEmpty());

  auto const shared = notes(event("cuda_runtime", 54, 0) + event("cuda_runtime", 55, 0) +
                            event("kernel", 0, 0) + event("kernel", 3, 0, 20));
  EXPECT_THAT(shared,
              ElementsAre(::testing::AllOf(HasSubstr("process 54, rank 1: train.py (process 55)"),
                                           HasSubstr("streams of device 0:"))));

  auto const apart = notes(event("cuda_runtime", 54, 0) + event("kernel", 0, 0) +
                           event("cuda_runtime", 55, 0) + event("kernel", 1, 1));
  EXPECT_THAT(apart, ElementsAre(HasSubstr("each has devices of its own")));
}

/// Two ranks' launches 1 to 4 and their kernels on device 0 and stream 7; `device`, `host`: their
/// processes.
std::string merged_ranks(std::array<std::string, 2> const& device,
                         std::array<std::string, 2> const& host, int shift_us) {
  std::string events;
  for (int rank = 0; rank < 2; ++rank)
    for (int i = 1; i <= 4; ++i) {
      int const at = 100 * i + shift_us * rank;
      events += fmt::format(
          R"json({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": "{}", "tid": 1, "ts": {}, "dur": 4, "args": {{"correlation": {}}}}},
{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": "{}", "tid": 7, "ts": {}, "dur": 30, "args": {{"device": 0, "stream": 7, "correlation": {}}}}},)json",
          host[static_cast<size_t>(rank)], at - 20, i, device[static_cast<size_t>(rank)], at, i);
    }

  return R"json({"schemaVersion": 1, "traceEvents": [)json" + events +
         R"json({"ph": "M", "name": "process_name", "pid": 9}]})json";
}

TEST(Kineto, RanksThatWereMergedHaveADeviceEach) {
  using Pair = std::array<std::string, 2>;
  std::vector<std::pair<Pair, Pair>> const merged = {
      {Pair{"[TP00] 0", "[TP01] 0"}, Pair{"[TP00] 1000", "[TP01] 1000"}},
      {Pair{"rank0_0", "rank10_0"}, Pair{"rank0_1000", "rank10_1000"}},
      {Pair{"0", "100000"}, Pair{"1000", "101000"}},
      {Pair{"0", "1"}, Pair{"1000", "1001"}}};

  for (auto const& [device, host] : merged) {
    auto const trace = read_kineto(merged_ranks(device, host, 5), 300);
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->devices().size(), 2U) << device[1];
    EXPECT_THAT(trace->devices()[1].name, HasSubstr(device[1]));
    EXPECT_THAT(trace->log().notes, ElementsAre(HasSubstr("each has devices of its own")));
    EXPECT_EQ(trace->log().doubled_launches, 0U);

    std::map<uint32_t, int32_t> device_of;  // by the launch's thread
    for (uint32_t row = 0; row < trace->event_count(); ++row) {
      if (trace->kind(row) != model::EventKind::kLaunch) continue;
      model::EventId const op = trace->columns().link[row];
      ASSERT_TRUE(op.valid());
      device_of[trace->columns().track[row].value] = trace->track(op.value).device;
    }

    EXPECT_EQ(device_of.size(), 2U);
    EXPECT_NE(device_of.begin()->second, device_of.rbegin()->second)
        << "each launch has the op of its own rank";
  }
}

TEST(Kineto, StreamsOfOneDeviceMayLieInSeveralProcesses) {
  // They follow each other: one stream can hold both.
  auto const trace = read_kineto(merged_ranks({"50", "51"}, {"1000", "1000"}, 45), 300);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->devices().size(), 1U);
  EXPECT_EQ(trace->log().overlapping_slices, 0U);
  auto const is_stream = [](model::Track const& track) {
    return track.kind == model::TrackKind::kStream;
  };
  EXPECT_EQ(std::count_if(trace->tracks().begin(), trace->tracks().end(), is_stream), 1);
}

TEST(Kineto, AFileThatSaysTwoRanksIsTakenAsTheFirst) {
  auto const trace =
      read_kineto(R"json({"distributedInfo": {"rank": 2, "world_size": 4}, "traceEvents": [
      {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": 5, "dur": 1}], "distributedInfo": {"rank": 3, "world_size": 4}})json");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->info().rank, 2);
  EXPECT_THAT(trace->log().notes, ElementsAre(HasSubstr("rank 2 and rank 3")));
}

}  // namespace
}  // namespace stepscope::import
