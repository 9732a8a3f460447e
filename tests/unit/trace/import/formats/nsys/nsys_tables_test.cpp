// What the rows of an export of Nsight Systems mean: ranges, overhead, streams, copies, memory,
// graphs and counters.
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/import/formats/nsys/nsys_traces.h"

namespace stepscope::import::nsys {
namespace {

using model::EventKind;
using nsys_tests::detail_named;
using nsys_tests::nsys_process;
using nsys_tests::nsys_thread;
using nsys_tests::nsys_worker;
using nsys_tests::read_sql;
using nsys_tests::row_named;
using nsys_tests::small;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(NsysExport, RangesWithoutAnEndLastUntilTheEndOfTheTrace) {
  auto const tid = std::to_string(nsys_thread(5, 6));
  std::string const insert =
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES ";

  auto const traces =
      read_sql(small(insert + "(10, 90, 59, 'whole', " + tid + "), (20, NULL, 35, 'open', " + tid +
                     "), (30, NULL, 59, 'cut', " + tid + "), (40, NULL, 36, NULL, " + tid +
                     "), (50, 60, 12345, 'of a new type', " + tid + ")"));
  ASSERT_EQ(traces.size(), 1U);

  EXPECT_EQ(traces[0].end(row_named(traces[0], "open")), 90);
  EXPECT_EQ(traces[0].end(row_named(traces[0], "cut")), 90);
  EXPECT_EQ(traces[0].event_count(), 3U);
  EXPECT_EQ(traces[0].log().unknown_events, 2U);
  EXPECT_THAT(traces[0].log().notes, Contains(HasSubstr("2 ranges never end")));
  EXPECT_THAT(traces[0].log().notes, Contains(HasSubstr("1 end of ranges has no begin")));
}

TEST(NsysExport, OurOwnAnnotationsAndThoseOfPyTorchMeanWhatTheyMeanElsewhere) {
  auto const tid = std::to_string(nsys_thread(5, 6));
  std::string const insert =
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, category, "
      "int64Value) VALUES ";

  auto const traces = read_sql(small(
      insert + "(10, 90, 59, 'step', " + tid + ", 4, 1, 17), (20, 30, 59, 'forward', " + tid +
      ", 4, 2, NULL), (30, 40, 59, 'batch', " + tid + ", 4, 3, NULL), (50, 60, 59, 'weights', " +
      tid + ", 4, 4, NULL), (61, 62, 59, 'work', " + tid +
      ", 4, 0, NULL), (1, NULL, 75, 'stepscope', " + tid +
      ", 4, NULL, NULL), (100, 200, 59, 'ProfilerStep#8, op_id = 3', " + tid +
      ", 0, NULL, NULL), (110, 120, 59, "
      "'enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', " +
      tid + ", 0, NULL, NULL)"));
  ASSERT_EQ(traces.size(), 1U);
  model::Trace const& trace = traces[0];

  EXPECT_EQ(detail_named<model::StepDetail>(trace, "step").index, 17);
  EXPECT_EQ(trace.kind(row_named(trace, "forward")), EventKind::kPhase);
  EXPECT_EQ(trace.kind(row_named(trace, "batch")), EventKind::kInputWait);
  EXPECT_EQ(trace.kind(row_named(trace, "memory: weights")), EventKind::kRange);
  EXPECT_EQ(trace.kind(row_named(trace, "work")), EventKind::kRange);
  EXPECT_EQ(detail_named<model::StepDetail>(trace, "ProfilerStep#8").index, 8);
  EXPECT_EQ(
      trace.kind(row_named(trace, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")),
      EventKind::kInputWait);
}

TEST(NsysExport, RangesOfPyTorchAreNamedWithoutTheNumbersOfTheirCalls) {
  std::string sql = small("");
  int64_t start = 0;
  for (char const* const name :
       {"aten::copy_, op_id = 991065", "aten::add, seq = 45330, op_id = 990730",
        "aten::mul, seq = 7",
        "aten::addmm, seq = 7, op_id = 12, sizes = [[2, 3], []], input_op_ids = [(5,0), (6,1)]",
        "aten::cat, sizes = [[], [], [4]]", "x, op_id = 5, seq = 4", "x, op_id = 5b",
        "x, op_id = ", "op_id = 5", ", op_id = 5", "x, sizes = [a]", "epoch = 5"})
    sql += fmt::format(
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES ({}, {}, 59, "
        "'{}', {});",
        ++start, start, name, nsys_thread(5, 6));

  sql += fmt::format(
      "INSERT INTO StringIds VALUES (3, 'aten::copy_, op_id = 3'), (4, 'aten::view');"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) VALUES (13, 13, 59, 3, "
      "{0}), (14, 14, 59, 4, {0});",
      nsys_thread(5, 6));

  auto const traces = read_sql(sql);
  ASSERT_EQ(traces.size(), 1U);
  std::vector<std::string> names;
  for (uint32_t row = 0; row < traces[0].event_count(); ++row)
    names.emplace_back(traces[0].name(row));

  EXPECT_THAT(
      names, ElementsAre("aten::copy_", "aten::add", "aten::mul", "aten::addmm", "aten::cat",
                         "x, op_id = 5", "x, op_id = 5b", "x, op_id = ", "op_id = 5", ", op_id = 5",
                         "x, sizes = [a]", "epoch = 5", "aten::copy_", "aten::view"));
}

TEST(NsysExport, WhatCudaItselfTakesTimeForIsNoOverheadOfTheProfiler) {
  std::string sql = small("");
  for (int type = 0; type <= 9; ++type)
    sql += fmt::format("INSERT INTO PROFILER_OVERHEAD VALUES ({}, {}, {}, 2, {});", 10 * type + 1,
                       10 * type + 5, nsys_thread(5, 6), type);
  sql += nsys_worker(5, 0, 200);

  auto const traces = read_sql(sql);
  ASSERT_EQ(traces.size(), 1U);

  std::multiset<std::string> of_profiler, of_cuda;
  for (uint32_t row = 0; row < traces[0].event_count(); ++row) {
    if (traces[0].kind(row) == EventKind::kOverhead) of_profiler.emplace(traces[0].name(row));
    if (traces[0].kind(row) == EventKind::kApi) of_cuda.emplace(traces[0].name(row));
  }

  EXPECT_THAT(of_profiler, ElementsAre("CUPTI buffer flush", "CUPTI instrumentation",
                                       "CUPTI resource", "profiler", "profiler", "profiler"));
  EXPECT_THAT(of_cuda, ElementsAre("command buffer full", "driver compiler",
                                   "lazy function loading", "module loading"));
}

TEST(NsysExport, StreamsOfSeveralContextsOfADeviceAreApart) {
  auto const pid = std::to_string(nsys_process(5));
  std::string const insert =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "globalPid, demangledName, shortName) VALUES ";

  auto const traces = read_sql(
      small(insert + "(10, 20, 0, 2, 7, " + pid + ", 2, 2), (15, 25, 0, 1, 7, " + pid + ", 2, 2)"));
  ASSERT_EQ(traces.size(), 1U);
  ASSERT_EQ(traces[0].tracks().size(), 2U);

  EXPECT_EQ(traces[0].tracks()[0].name, "stream 7");
  EXPECT_EQ(traces[0].tracks()[0].id, 7);
  EXPECT_EQ(traces[0].tracks()[1].name, "stream 7 of context 2");
  EXPECT_EQ(traces[0].tracks()[1].id, (int64_t{2} << 32) + 7);
  EXPECT_EQ(traces[0].log().overlapping_slices, 0U);
}

TEST(NsysExport, CopiesBetweenDevicesNameTheOther) {
  auto const pid = std::to_string(nsys_process(5));
  std::string const insert =
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, "
      "globalPid, bytes, copyKind, srcKind, dstKind, "
      "srcDeviceId, dstDeviceId) VALUES ";

  auto const traces = read_sql(small(insert + "(10, 20, 0, 1, 7, " + pid +
                                     ", 64, 10, 2, 2, 0, 3), (30, 40, 0, 1, 7, " + pid +
                                     ", 64, 8, 2, 2, 5, 0), (50, 60, 0, 1, 7, " + pid +
                                     ", 64, 8, 2, 2, 0, 0), (70, 80, 0, 1, 7, " + pid +
                                     ", 64, 99, NULL, NULL, NULL, NULL), (90, 95, 0, 1, 7, " + pid +
                                     ", 4096, 11, NULL, NULL, NULL, NULL)"));
  ASSERT_EQ(traces.size(), 1U);
  auto const copies = traces[0].details<model::CopyDetail>();
  ASSERT_EQ(copies.size(), 5U);
  using enum model::CopyDirection;

  EXPECT_EQ(std::tuple(copies[0].direction, copies[0].peer_device), std::tuple(kPeerToPeer, 3));
  EXPECT_EQ(std::tuple(copies[1].direction, copies[1].peer_device), std::tuple(kPeerToPeer, 5));
  EXPECT_EQ(std::tuple(copies[2].direction, copies[2].peer_device),
            std::tuple(kDeviceToDevice, -1));
  EXPECT_EQ(copies[3].direction, kUnknown);
  EXPECT_EQ(copies[4].direction, kHostToDevice);
  EXPECT_EQ(traces[0].name(4), "Memcpy HtoD (Managed -> Managed)");
}

TEST(NsysExport, MemoryIsAccountedInTheOrderOfTimeWithItsPools) {
  auto const pid = std::to_string(nsys_process(5));
  std::string const insert =
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, "
      "bytes, memKind, memoryOperationType, "
      "correlationId, localMemoryPoolAddress, localMemoryPoolSize) VALUES ";

  auto const traces = read_sql(small(
      insert + "(40, " + pid + ", 0, 1, 1, 100, 2, 1, 4, NULL, NULL), (10, " + pid +
      ", 0, 1, 1, 100, 2, 0, 1, NULL, NULL), (20, " + pid +
      ", 0, 1, 2, 50, 2, 0, 2, 99, 1000), (30, " + pid +
      ", 0, 1, 3, 7, 1, 0, 3, NULL, NULL), (50, " + pid + ", 0, 1, 77, 5, 2, 1, 5, NULL, NULL)"));
  ASSERT_EQ(traces.size(), 1U);
  auto const changes = traces[0].details<model::MemoryDetail>();
  ASSERT_EQ(changes.size(), 5U);

  auto const totals = [&](size_t i) {
    return std::tuple(changes[i].allocated_bytes, changes[i].reserved_bytes, changes[i].device);
  };

  EXPECT_EQ(totals(0), std::tuple(100U, 100U, 0));
  EXPECT_EQ(totals(1), std::tuple(150U, 1100U, 0));
  EXPECT_EQ(totals(2), std::tuple(0U, 0U, -1));  // of the host
  EXPECT_EQ(totals(3), std::tuple(50U, 1000U, 0));
  EXPECT_EQ(totals(4), std::tuple(50U, 1000U, 0));  // was never seen to be allocated
}

TEST(NsysExport, NodesOfGraphsAreNamedWithTheirGraphs) {
  auto const pid = std::to_string(nsys_process(5));
  // A node's number has its graph's in the upper half; new exports say the graph beside it.
  std::string const sql =
      "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN graphId INTEGER;"
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, graphNodeId INTEGER, "
      "originalGraphNodeId INTEGER);"
      "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (1, 12884901889, 8589934593);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, demangledName, "
      "shortName, graphNodeId, graphId) VALUES (10, 20, 0, 1, 7, 1, " +
      pid + ", 2, 2, 12884901889, NULL), (20, 30, 0, 1, 7, 1, " + pid +
      ", 2, 2, 12884901890, 9), (30, 40, 0, 1, 7, 2, " + pid +
      ", 2, 2, NULL, NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, bytes, copyKind, "
      "graphNodeId, graphId) VALUES (40, 50, 0, 1, 7, 1, " +
      pid + ", 4, 1, 12884901891, 9), (50, 60, 0, 1, 7, 1, " + pid +
      ", 4, 1, 12884901891, NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, bytes, graphNodeId) VALUES (60, 70, 0, 1, 7, 1, " +
      pid + ", 4, 12884901892);";

  auto const traces = read_sql(small(sql));
  ASSERT_EQ(traces.size(), 1U);

  std::vector<std::pair<uint32_t, uint64_t>> kernels, copies;
  for (auto const& kernel : traces[0].details<model::KernelDetail>())
    kernels.emplace_back(kernel.graph, kernel.graph_node);
  for (auto const& copy : traces[0].details<model::CopyDetail>())
    copies.emplace_back(copy.graph, copy.graph_node);
  EXPECT_THAT(kernels, ElementsAre(Pair(3U, 12884901889U), Pair(9U, 12884901890U), Pair(0U, 0U)));

  EXPECT_THAT(copies,
              ElementsAre(Pair(9U, 12884901891U), Pair(3U, 12884901891U), Pair(3U, 12884901892U)));
}

TEST(NsysExport, CounterOfAGpuIsShownWithTheProcessThatUsedItMost) {
  std::string const metrics =
      "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 0, '', 1, 'SM Active'); INSERT INTO "
      "GPU_METRICS VALUES (0, 50, 256, 1, 9), "
      "(0, 60, 256, 2, 8), (0, 70, 511, 1, 7);";

  auto const traces =
      read_sql(small(nsys_worker(50, 0) + nsys_worker(60, 0) + nsys_worker(60, 0, 20) + metrics));
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].details<model::SampleDetail>().size(), 0U);
  EXPECT_EQ(detail_named<model::SampleDetail>(traces[1], "SM Active").value, 9);
  EXPECT_EQ(detail_named<model::SampleDetail>(traces[1], "metric 2").value, 8);
  EXPECT_THAT(traces[1].log().notes,
              Contains(HasSubstr("1 sample is of GPUs that no process used")));
}

TEST(NsysExport, CounterOfAGpuIsShownWithTheProcessThatSeesThisGpu) {
  // Each process sees its own GPU as the first one; the second did more.
  std::string const sql = nsys_worker(50, 0) + nsys_worker(60, 0) + nsys_worker(60, 0, 20) +
                          nsys_worker(60, 0, 30) +
                          "INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid) VALUES (0, 0, "
                          "50), (1, 0, 60);INSERT INTO GPU_METRICS VALUES (0, 50, 256, 1, 11), (0, "
                          "50, 257, 1, 99), (0, 50, 258, 1, 7);";

  auto const traces = read_sql(small(sql));
  ASSERT_EQ(traces.size(), 2U);

  for (model::Trace const& trace : traces) {
    auto const samples = trace.details<model::SampleDetail>();
    ASSERT_EQ(samples.size(), 1U);
    EXPECT_EQ(samples[0].value, trace.info().process_id == 50 ? 11 : 99);
  }
}

}  // namespace
}  // namespace stepscope::import::nsys
