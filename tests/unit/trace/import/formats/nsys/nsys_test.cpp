// Exports of Nsight Systems: what each table becomes, in any order of rows, with tables and columns
// missing; processes and ranks.
#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <sstream>
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

using nsys_tests::detail_named;
using nsys_tests::nsys_database;
using nsys_tests::nsys_job_sql;
using nsys_tests::nsys_process;
using nsys_tests::nsys_thread;
using nsys_tests::nsys_worker;
using nsys_tests::read_bytes;
using nsys_tests::read_sql;
using nsys_tests::row_named;
using nsys_tests::small;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
/// Track, kind, name, start, duration, correlation.
using NsysRow = std::tuple<std::string, std::string, std::string, int64_t, int64_t, uint64_t>;

std::multiset<NsysRow> rows_of(model::Trace const& trace) {
  std::multiset<NsysRow> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    rows.emplace(trace.track(row).name, kind_info(trace.kind(row)).name, trace.name(row),
                 trace.start(row), trace.end(row) - trace.start(row),
                 trace.columns().correlation[row]);
  return rows;
}

TEST(NsysExport, IsKnownByItsTablesWhateverItsName) {
  auto const sniffs = [](std::string const& bytes) {
    return is_nsys_export(Input(std::as_bytes(std::span(bytes)), "anything"));
  };
  EXPECT_TRUE(sniffs(nsys_database(nsys_job_sql())));
  EXPECT_TRUE(sniffs(nsys_database("CREATE TABLE NVTX_EVENTS (start INTEGER)")));
  EXPECT_FALSE(sniffs(nsys_database("CREATE TABLE contacts (name TEXT)")));
  EXPECT_FALSE(sniffs("SQLite format 3"));
  EXPECT_FALSE(sniffs("{\"traceEvents\": []}"));
}

TEST(NsysExport, HasATraceForEachProcessOfTheProgram) {
  auto const traces = read_sql(nsys_job_sql());
  ASSERT_EQ(traces.size(), 2U);
  for (int32_t i = 0; i < 2; ++i) {
    model::TraceInfo const& info = traces[static_cast<size_t>(i)].info();
    EXPECT_EQ(info.process_id, 100 + i);
    EXPECT_EQ(info.tool, "Nsight Systems 2026.2.1.210");
    EXPECT_EQ(info.host, "node-7");
    EXPECT_EQ(info.command, "python3");
    EXPECT_EQ(info.origin_epoch_ns, 1779782330176752435);
    EXPECT_LT(info.rank, 0);  // nothing says it
    EXPECT_EQ(info.world_size, 2);
    EXPECT_THAT(info.facts, Contains(Pair("launched", "torchrun train.py")));
    EXPECT_THAT(info.facts, Contains(Pair("left out", HasSubstr("1 of the report's processes"))));

    auto const devices = traces[static_cast<size_t>(i)].devices();
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_EQ(devices[0].id, i);
    EXPECT_EQ(devices[0].name, "NVIDIA H100");
    EXPECT_EQ(devices[0].capacity_bytes, 85899345920U);
    EXPECT_EQ(devices[0].threads, 132U);
  }
}

TEST(NsysExport, EachTableBecomesItsRows) {
  auto const traces = read_sql(nsys_job_sql());
  ASSERT_EQ(traces.size(), 2U);

  std::string const collective =
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096>)";
  std::string const kernel = "void add<float>(float*, int)";

  std::multiset<NsysRow> const expected = {
      {"trainer", "range", "step 5", 900, 2800, 0},
      {"trainer", "annotated_range", "forward", 950, 200, 0},
      {"trainer", "range", "cublasGemmEx", 960, 180, 0},
      {"trainer", "launch", "cudaLaunchKernel", 1000, 100, 11},
      {"trainer", "launch", "cudaMemcpyAsync", 1200, 50, 12},
      {"trainer", "launch", "cudaMemsetAsync", 1300, 10, 13},
      {"trainer", "sync", "cudaStreamSynchronize", 1400, 1600, 14},
      {"trainer", "memory", "cudaMalloc", 3100, 100, 15},
      {"trainer", "api", "cudaEventQuery", 3300, 1, 16},
      {"trainer", "range", "NCCL: ncclAllReduce", 3380, 80, 0},
      {"trainer", "launch", "cuLaunchKernelEx", 3400, 50, 17},
      {"trainer", "api", "cudaEventRecord", 3500, 20, 18},
      {"trainer", "launch", "cudaGraphLaunch", 3600, 50, 19},
      {"trainer", "annotated_mark", "loss", 3700, 0, 0},
      {"trainer", "range", "begun here", 3800, 100, 0},
      {"trainer", "api", "read", 3910, 40, 0},
      {"trainer", "annotated_range", "MPI_Allreduce", 3960, 20, 0},
      {"trainer", "overhead", "CUPTI buffer flush", 3990, 5, 0},
      {"CUDA (thread unknown)", "memory", "free", 7000, 0, 0},
      {"stream 7 (default)", "kernel", kernel, 2000, 500, 11},
      {"stream 7 (default)", "memset", "Memset (Device)", 2800, 50, 13},
      {"stream 7 (default)", "stream_wait", "stream wait", 3530, 10, 20},
      {"stream 7 (default)", "collective", collective, 4000, 600, 17},
      {"stream 7 (default)", "kernel", kernel, 5000, 100, 19},
      {"stream 7 (default)", "kernel", "CUDA graph 9", 6000, 900, 19},
      {"copies", "memcpy", "Memcpy HtoD (Pinned -> Device)", 2600, 100, 12},
      {"SM Active [%]", "sample", "SM Active [%]", 2000, 0, 0},
      {"SM Active [%]", "sample", "SM Active [%]", 2200, 0, 0},
  };

  EXPECT_EQ(rows_of(traces[0]), expected);
  EXPECT_EQ(rows_of(traces[1]).size(), expected.size() - 1);

  EXPECT_EQ(traces[0].log().unmatched_launches, 0U);
  EXPECT_EQ(traces[0].log().unmatched_ops, 0U);
  EXPECT_EQ(traces[0].log().dropped, 0U);
}

TEST(NsysExport, RowsSayWhatTheirTablesSay) {
  auto const traces = read_sql(nsys_job_sql());
  ASSERT_EQ(traces.size(), 2U);
  model::Trace const& trace = traces[1];

  auto const kernel = detail_named<model::KernelDetail>(trace, "void add<float>(float*, int)");
  EXPECT_EQ(std::tuple(kernel.grid_x, kernel.grid_y, kernel.grid_z, kernel.block_x, kernel.block_y,
                       kernel.block_z),
            std::tuple(8U, 2U, 1U, 128U, 1U, 1U));
  EXPECT_EQ(kernel.registers_per_thread, 40U);
  EXPECT_EQ(kernel.shared_memory_bytes, 1536U);
  EXPECT_EQ(kernel.graph, 0U);
  EXPECT_EQ(detail_named<model::KernelDetail>(trace, "CUDA graph 9").graph, 9U);

  auto const kernels = trace.details<model::KernelDetail>();
  EXPECT_EQ(std::count_if(
                kernels.begin(), kernels.end(),
                [](auto const& one) { return one.graph == 5 && one.graph_node == 21474836481U; }),
            1);

  auto const copy = detail_named<model::CopyDetail>(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(std::tuple(copy.bytes, copy.direction, copy.pinned),
            std::tuple(4096U, model::CopyDirection::kHostToDevice, 1));
  EXPECT_EQ(detail_named<model::CopyDetail>(trace, "Memset (Device)").bytes, 256U);

  auto const sync = detail_named<model::SyncDetail>(trace, "cudaStreamSynchronize");
  EXPECT_EQ(std::tuple(sync.sync, sync.device, sync.stream),
            std::tuple(model::SyncKind::kStream, 1, 7));

  auto const wait = detail_named<model::StreamWaitDetail>(trace, "stream wait");
  EXPECT_EQ(std::tuple(wait.source_device, wait.source_stream, wait.source_correlation),
            std::tuple(1, 13, 18U));

  auto const allocated = detail_named<model::MemoryDetail>(trace, "cudaMalloc");
  EXPECT_EQ(std::tuple(allocated.address, allocated.bytes, allocated.allocated_bytes,
                       allocated.reserved_bytes, allocated.device),
            std::tuple(65536U, 1048576U, 1048576U, 1048576U, 1));
  EXPECT_EQ(std::tuple(allocated.op, allocated.memory),
            std::tuple(model::MemoryOp::kAllocate, model::MemoryKind::kDevice));
  EXPECT_EQ(detail_named<model::MemoryDetail>(trace, "free").allocated_bytes, 0U);

  auto const range = detail_named<model::RangeDetail>(trace, "forward");
  EXPECT_EQ(std::tuple(range.category, range.color), std::tuple(3U, 16711680U));

  auto const mark = detail_named<model::RangeDetail>(trace, "loss");
  EXPECT_EQ(mark.payload_type, model::NumberType::kReal);
  EXPECT_EQ(std::bit_cast<double>(mark.payload), 0.5);

  auto const message = detail_named<model::RangeDetail>(trace, "MPI_Allreduce");
  EXPECT_EQ(std::tuple(message.bytes, message.communicator), std::tuple(8U, 44U));
  EXPECT_EQ(detail_named<model::SampleDetail>(trace, "SM Active [%]").value, 75);

  auto const& collective = trace.details<model::CollectiveDetail>();
  ASSERT_EQ(collective.size(), 1U);
  EXPECT_EQ(std::tuple(collective[0].op, collective[0].algorithm, collective[0].protocol,
                       collective[0].channels),
            std::tuple(model::CollectiveOp::kAllReduce, model::CollectiveAlgorithm::kRing,
                       model::CollectiveProtocol::kLl, 24U));
}

TEST(NsysExport, SaysWhatItGuessedAndWhatItCannotTellApart) {
  auto const traces = read_sql(nsys_job_sql());
  ASSERT_EQ(traces.size(), 2U);
  EXPECT_THAT(traces[1].log().notes,
              Contains(HasSubstr("its rank is a guess by the order of the processes' devices")));
  EXPECT_THAT(traces[1].log().notes,
              Contains(HasSubstr("2 launches of CUDA graphs were recorded whole")));
  EXPECT_FALSE(traces[1].log().truncated);
}

/// The statements of a script, but for those that make tables.
std::pair<std::string, std::vector<std::string>> split_script(std::string const& sql) {
  std::string tables;
  std::vector<std::string> inserts;
  std::istringstream text(sql);

  for (std::string statement; std::getline(text, statement, ';');) {
    statement.erase(0, statement.find_first_not_of(" \n"));
    if (statement.starts_with("INSERT"))
      inserts.push_back(statement);
    else if (!statement.empty())
      tables += statement + ";";
  }

  return {tables, inserts};
}

TEST(NsysExport, RowsInAnyOrderAreTheSameTrace) {
  auto [tables, inserts] = split_script(nsys_job_sql());
  auto const ordered = read_sql(nsys_job_sql());
  ASSERT_EQ(ordered.size(), 2U);

  for (uint32_t seed = 0; seed < 6; ++seed) {
    std::shuffle(inserts.begin(), inserts.end(), std::mt19937(seed));
    std::string sql = tables;
    for (std::string const& insert : inserts) sql += insert + ";";
    auto const shuffled = read_sql(sql);
    ASSERT_EQ(shuffled.size(), 2U);

    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rows_of(shuffled[i]), rows_of(ordered[i])) << seed;
      ASSERT_EQ(shuffled[i].tracks().size(), ordered[i].tracks().size());
      for (size_t t = 0; t < ordered[i].tracks().size(); ++t)
        EXPECT_EQ(shuffled[i].tracks()[t].name, ordered[i].tracks()[t].name);
      EXPECT_EQ(detail_named<model::MemoryDetail>(shuffled[i], "free").allocated_bytes, 0U);
    }
  }
}

TEST(NsysExport, IsReadWithoutAnyOneOfItsTables) {
  auto const [tables, inserts] = split_script(nsys_job_sql());
  std::istringstream text(tables);
  size_t dropped = 0;

  for (std::string statement; std::getline(text, statement, ';'); ++dropped) {
    std::string const name = statement.substr(13, statement.find(' ', 13) - 13);
    auto const traces = read_bytes(nsys_database(nsys_job_sql() + "DROP TABLE " + name));
    ASSERT_TRUE(traces) << name << ": " << traces.error().message;
    EXPECT_EQ(traces->size(), 2U) << name;
    EXPECT_FALSE(traces->front().log().truncated) << name;
  }

  EXPECT_GE(dropped, 30U);
}

TEST(NsysExport, IsReadWithoutAnyOneOfItsColumns) {
  for (auto const& [table, columns] :
       {std::pair<std::string, std::vector<std::string>>{
            "CUPTI_ACTIVITY_KIND_KERNEL",
            {"deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName",
             "shortName", "registersPerThread", "gridX", "blockZ", "staticSharedMemory",
             "graphNodeId", "graphId"}},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         {"bytes", "copyKind", "srcKind", "dstDeviceId", "globalPid", "graphNodeId"}},
        {"CUPTI_ACTIVITY_KIND_MEMSET", {"bytes", "memKind", "graphNodeId"}},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", {"globalTid", "correlationId", "nameId", "returnValue"}},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
         {"syncType", "eventId", "eventSyncId", "contextId"}},
        {"CUDA_GPU_MEMORY_USAGE_EVENTS",
         {"memKind", "memoryOperationType", "correlationId", "address"}},
        {"NVTX_EVENTS",
         {"end", "text", "textId", "globalTid", "domainId", "color", "binaryData", "jsonText"}},
        {"GPU_METRICS", {"typeId", "metricId", "value", "timestamp"}},
        {"StringIds", {"value"}}}) {
    for (std::string const& column : columns) {
      SCOPED_TRACE(table + "." + column);
      auto const traces = read_bytes(nsys_database(nsys_job_sql() + "ALTER TABLE " + table +
                                                   " DROP COLUMN \"" + column + "\""));

      ASSERT_TRUE(traces) << traces.error().message;
      ASSERT_GE(traces->size(), 2U);
      EXPECT_GE(traces->back().event_count(), 17U);
    }
  }
}

TEST(NsysExport, OfAnOldVersionWithoutProcessesOfKernelsIsOfTheProcessThatCalled) {
  std::string const sql = small(
      fmt::format("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN globalPid; ALTER TABLE "
                  "CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName;"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, {}, 1, 1, 0, NULL);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, "
                  "streamId, correlationId, shortName) VALUES (30, 40, 0, 1, 7, 1, 2)",
                  nsys_thread(55, 56)));

  auto const traces = read_sql(sql);
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].info().process_id, 55);
  EXPECT_EQ(traces[0].log().unmatched_ops, 0U);
  EXPECT_THAT(traces[0].log().notes, Contains(HasSubstr("1 row does not tell its process")));
  EXPECT_EQ(traces[0].name(row_named(traces[0], "add")), "add");
}

TEST(NsysExport, RepairsAndCountsWhatCannotBe) {
  std::string const insert =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, demangledName, shortName) VALUES ";
  auto const pid = std::to_string(nsys_process(5));

  std::string sql =
      small(insert + "(100, 90, 0, 1, 7, 0, " + pid + ", 2, 2)");         // ends before it starts
  sql += ";" + insert + "(0, 0, 0, 1, 7, 0, " + pid + ", 2, 2)";          // has no time
  sql += ";" + insert + "(200, 210, 0, 1, 7, 0, " + pid + ", 777, 777)";  // has no name
  sql += ";" + insert + "(300, 310, 9000000000, -9, 7, 9223372036854775807, " + pid +
         ", 2, 2)";  // numbers
  sql += ";" + insert + "(-9223372036854775808, 9223372036854775807, 0, 1, 7, 0, " + pid +
         ", 2, 2)";  // beyond time
  sql +=
      ";" + insert + "('soon', x'FF', 'first', 1.5, 7, 'x', " + pid + ", 2, 2)";  // of other types

  auto const traces = read_sql(sql);
  ASSERT_EQ(traces.size(), 1U);
  model::ImportLog const& log = traces[0].log();

  EXPECT_EQ(log.negative_durations, 1U);
  EXPECT_EQ(log.dropped, 2U);
  EXPECT_EQ(log.impossible_times, 1U);
  EXPECT_THAT(log.notes, Contains("2 rows have no time and were left out"));
  EXPECT_THAT(log.notes, Contains("1 name is not in the export"));
  EXPECT_EQ(traces[0].event_count(), 4U);
  EXPECT_EQ(traces[0].start(row_named(traces[0], "name 777")), 200);
}

TEST(NsysExport, WhoseTimesWereShiftedCountsFromTheSameInstant) {
  auto const event =
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES ({}, {}, 59, 'x', " +
      std::to_string(nsys_thread(5, 6)) + ");";
  std::string const start =
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '', 0);";

  auto const plain = read_sql(small(start + fmt::format(fmt::runtime(event), 100, 200)));
  auto const normalized = read_sql(
      small(start + "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true');" +
            fmt::format(fmt::runtime(event), 1700000000000000100, 1700000000000000200)));
  auto const shifted = read_sql(
      small(start + "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT', '5000');" +
            fmt::format(fmt::runtime(event), 5100, 5200)));

  for (auto const* const traces : {&plain, &normalized, &shifted}) {
    ASSERT_EQ(traces->size(), 1U);
    EXPECT_EQ(traces->front().info().origin_epoch_ns + traces->front().start(0),
              1700000000000000100);
    EXPECT_EQ(traces->front().end(0) - traces->front().start(0), 100);
  }
}

std::vector<std::pair<int32_t, int32_t>> nsys_ranks(std::vector<model::Trace> const& traces) {
  std::vector<std::pair<int32_t, int32_t>> ranks;
  for (model::Trace const& trace : traces)
    ranks.emplace_back(trace.info().rank, trace.info().world_size);
  return ranks;
}
std::string nsys_variable(std::string const& assignment) {
  return "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', '" + assignment +
         "');";
}

TEST(NsysExport, TakesRanksFromMpiBeforeAnythingElse) {
  std::string const ranks = fmt::format(
      "INSERT INTO MPI_RANKS VALUES ({}, 5), ({}, 4); INSERT INTO MPI_COMMUNICATORS (rank, size) "
      "VALUES (4, 8), (4, 2);",
      nsys_thread(50, 51), nsys_thread(60, 61));
  auto const traces =
      read_sql(small(nsys_worker(50, 0) + nsys_worker(60, 1) + ranks + nsys_variable("RANK=\"1\"")),
               "rank-7.sqlite");
  EXPECT_THAT(nsys_ranks(traces), ElementsAre(Pair(5, 8), Pair(4, 8)));
  EXPECT_THAT(traces[0].log().notes, Not(Contains(HasSubstr("guess"))));
}

TEST(NsysExport, OfOneProcessTakesItsRankFromTheEnvironmentElseFromTheFilesName) {
  EXPECT_THAT(nsys_ranks(read_sql(small(nsys_worker(50, 0) + nsys_variable("RANK=\"3\"") +
                                        nsys_variable("WORLD_SIZE=\"16\"")),
                                  "rank-7.sqlite")),
              ElementsAre(Pair(3, 16)));
  EXPECT_THAT(
      nsys_ranks(read_sql(small(nsys_worker(50, 0) + nsys_variable("OMPI_COMM_WORLD_RANK=6")))),
      ElementsAre(Pair(6, 1)));

  EXPECT_THAT(nsys_ranks(read_sql(small(nsys_worker(50, 0)), "job/rank-7.sqlite")),
              ElementsAre(Pair(7, 1)));
  EXPECT_THAT(nsys_ranks(read_sql(small(nsys_worker(50, 0) + nsys_variable("RANK=\"-3\"")))),
              ElementsAre(Pair(-1, 1)));
}

TEST(NsysExport, ThatTellsNoRanksHasItsProcessesInTheOrderOfTheirDevicesElseInTheirOwn) {
  auto const ordered = [](std::string const& sql) {
    std::vector<std::pair<int64_t, int32_t>> processes;
    for (model::Trace const& trace : read_sql(small(sql)))
      processes.emplace_back(trace.info().process_id, trace.info().rank);
    return processes;
  };

  EXPECT_THAT(ordered(nsys_worker(50, 1) + nsys_worker(60, 0)),
              ElementsAre(Pair(60, -1), Pair(50, -1)));
  // Each sees its own GPU as the first one.
  EXPECT_THAT(ordered(nsys_worker(50, 0) + nsys_worker(60, 0)),
              ElementsAre(Pair(50, -1), Pair(60, -1)));

  // One without a device is no rank as launchers number them.
  std::string const helper = fmt::format(
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (1, 2, 59, 'x', "
      "{});",
      nsys_thread(40, 41));
  EXPECT_THAT(ordered(helper + nsys_worker(50, 1) + nsys_worker(60, 0)),
              ElementsAre(Pair(60, -1), Pair(50, -1), Pair(40, -1)));
}

TEST(NsysExport, ReportsThatWereNotExportedSayWhatToDo) {
  EXPECT_THAT(*advice_for_report("runs/a.nsys-rep"),
              HasSubstr("nsys export --type sqlite runs/a.nsys-rep"));
  EXPECT_TRUE(advice_for_report("old.qdrep"));
  EXPECT_FALSE(advice_for_report("a.sqlite"));
}

TEST(NsysExport, WarningsOfTheProfilerAndTablesThatAreNotReadAreTold) {
  auto const traces =
      read_sql(small(nsys_worker(50, 0) +
                     "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 0, 0, 2, 'Not all events were "
                     "collected', NULL), (2, 0, 0, 1, 'hello', NULL);CREATE TABLE SCHED_EVENTS "
                     "(start INTEGER, cpu INTEGER); INSERT INTO SCHED_EVENTS VALUES (1, 2);"
                     "CREATE TABLE COMPOSITE_EVENTS (start INTEGER, cpu INTEGER)"));

  ASSERT_EQ(traces.size(), 1U);
  EXPECT_THAT(traces[0].log().notes,
              ElementsAre("Nsight Systems warning: Not all events were collected"));
  EXPECT_THAT(traces[0].info().facts, Contains(Pair("not read", "SCHED_EVENTS")));
}

TEST(NsysExport, NamesAreCleanedAndCut) {
  auto const tid = std::to_string(nsys_thread(5, 6));
  auto const traces = read_sql(small(
      "INSERT INTO StringIds VALUES (3, CAST(x'61FF1B62' AS TEXT));"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid) VALUES (1, 2, 59, 3, " +
      tid +
      ");"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (3, 4, 59, "
      "printf('%.20000c', 'x'), " +
      tid + ")"));
  ASSERT_EQ(traces.size(), 1U);

  EXPECT_EQ(traces[0].name(0),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(traces[0].name(1).size(), 16384U);
  EXPECT_THAT(traces[0].log().notes, Contains("1 name is longer than 16 KiB and was cut"));
}

}  // namespace
}  // namespace stepscope::import::nsys
