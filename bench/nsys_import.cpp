// How fast exports of Nsight Systems are read: nsys_import [EXPORT.sqlite | ROWS], where ROWS
// (default 4,000,000) makes one of that many rows in the folder of temporary files. Medians of
// kRepeats, one core, from the page cache. For comparison it times SQLite alone as it steps over
// the same rows and columns of the same tables.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "bench/median.h"
#include "trace/base/files/mapped_file.h"
#include "trace/base/format.h"
#include "trace/import/common/database/database.h"
#include "trace/import/formats/nsys/nsys_importer.h"

namespace {

using namespace stepscope;

constexpr int kRepeats = 5;

double median_s(std::function<void()> const& work) { return bench::median_s(kRepeats, work); }

/// Tables as the exporter of 2026.2 makes them, with the columns that it fills in all rows or in
/// none.
constexpr char const* kSchema = R"sql(
PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
  deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER,
  dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
  gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
  localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER,
  qmdBulkReleaseDone INTEGER, qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER,
  clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, sharedMemoryRequestedPercentage INTEGER,
  tensorSizeMinusOneElements TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER,
  doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER, argumentsId INTEGER);
CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER, typeName TEXT, metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
CREATE TABLE GPU_METRICS (rawTimestamp INTEGER NOT NULL, timestamp INTEGER NOT NULL, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL,
  value INTEGER NOT NULL);
BEGIN;
INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, '', 1, 'SM Active [%]'), (257, 1, '', 1, 'SM Active [%]');
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaStreamIsCapturing_v10000'), (4, 'read'),
  (5, 'ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096>)');
)sql";

/// Inserts into one table.
class Insert {
 public:
  Insert(sqlite3* to, std::string const& table, std::string const& values) {
    if (sqlite3_prepare_v2(to, fmt::format("INSERT INTO {} VALUES ({})", table, values).c_str(), -1,
                           &statement_, nullptr) != SQLITE_OK) {
      fmt::print(stderr, "{}: {}\n", table, sqlite3_errmsg(to));
      std::exit(2);
    }
  }
  ~Insert() { sqlite3_finalize(statement_); }
  Insert(Insert const&) = delete;
  Insert& operator=(Insert const&) = delete;
  template <class... Values>
  void row(Values... values) {
    int at = 0;
    (sqlite3_bind_int64(statement_, ++at, values), ...);
    sqlite3_step(statement_);
    sqlite3_reset(statement_);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

constexpr int kNames = 400;

void insert_names(sqlite3* to) {
  for (int i = 0; i < kNames; ++i)
    sqlite3_exec(to,
                 fmt::format("INSERT INTO StringIds VALUES ({}, 'void "
                             "at::native::vectorized_elementwise_kernel<4, "
                             "functor_{}<float>>(int, T2, T3)')",
                             100 + i, i)
                     .c_str(),
                 nullptr, nullptr, nullptr);
}

/// One launched op takes ten rows: five calls and ranges of the host, its kernel or copy, a system
/// call, and counters.
class OpRows {
 public:
  explicit OpRows(sqlite3* to)
      : runtime_(to, "CUPTI_ACTIVITY_KIND_RUNTIME", "?, ?, 0, ?, ?, ?, 0, NULL"),
        kernel_(to, "CUPTI_ACTIVITY_KIND_KERNEL",
                "?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, 1, 0, 40, ?, 1, 1, 128, 1, 1, 0, 4096, 0, 0, "
                "?, 65536, NULL, 0, NULL, NULL, "
                "NULL, NULL, 1, 1, 1, 0, 8, 0, NULL, ''"),
        copy_(to, "CUPTI_ACTIVITY_KIND_MEMCPY",
              "?, ?, ?, ?, 0, ?, ?, ?, ?, 1, NULL, 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "
              "1"),
        range_(to, "NVTX_EVENTS",
               "?, ?, 59, NULL, NULL, NULL, NULL, ?, NULL, ?, 0, NULL, NULL, NULL, NULL, NULL, "
               "NULL, NULL, NULL, NULL"),
        text_(to, "NVTX_EVENTS",
              "?, ?, 59, NULL, NULL, NULL, 'aten::add, op_id = ' || ?, ?, NULL, NULL, 0, NULL, "
              "NULL, NULL, NULL, NULL, NULL, "
              "NULL, NULL, NULL"),
        system_(to, "OSRT_API", "?, ?, 0, ?, 4, 0, NULL, 0, 0"),
        metric_(to, "GPU_METRICS", "?, ?, ?, 1, ?") {}

  void add(int64_t op, std::mt19937_64& random) {
    int64_t const device = op % 2, process = int64_t{1} << 48 | (1000 + device) << 24,
                  thread = process | (1000 + device), at = 1'000'000 + op * 10'000;
    auto const name = static_cast<int64_t>(100 + random() % kNames);
    auto const device_at = at + 20'000 + static_cast<int64_t>(random() % 1000);

    range_.row(at, at + 9'000, thread, name);
    range_.row(at + 100, at + 8'000, thread, 100 + name % 16);
    // A tenth of the ranges has a name of its own, as PyTorch's have.
    if (op % 5 == 0)
      text_.row(at + 200, at + 7'000, op, thread);
    else
      range_.row(at + 200, at + 7'000, thread, name);

    runtime_.row(at + 300, at + 400, thread, 3 * op, int64_t{3});
    runtime_.row(at + 500, at + 3'000, thread, 3 * op + 1, int64_t{1});
    kernel_.row(device_at, device_at + 3'000, device, device + 1, int64_t{7}, 3 * op + 1, process,
                op % 100 == 0 ? 5 : name, name, name, 8 + op % 64, op);
    if (op % 2 == 0)
      copy_.row(device_at + 3'500, device_at + 4'000, device, device + 1, int64_t{13}, 3 * op + 2,
                process, 4096 + op % 1000);
    else
      runtime_.row(at + 3'100, at + 3'200, thread, 3 * op + 2, int64_t{3});
    runtime_.row(at + 4'000, at + 4'500, thread, op % 2 == 0 ? 3 * op + 2 : 0,
                 op % 2 == 0 ? int64_t{2} : int64_t{3});

    system_.row(at + 9'100, at + 9'200, thread);
    metric_.row(at, at, 256 + device, op % 100);
  }

 private:
  Insert runtime_, kernel_, copy_, range_, text_, system_, metric_;
};

void make_export(std::string const& path, int64_t rows) {
  std::filesystem::remove(path);
  sqlite3* to = nullptr;
  sqlite3_open(path.c_str(), &to);
  sqlite3_exec(to, kSchema, nullptr, nullptr, nullptr);

  insert_names(to);
  {
    OpRows ops(to);
    std::mt19937_64 random(1);
    for (int64_t op = 0; op < rows / 10; ++op) ops.add(op, random);
  }

  sqlite3_exec(to, "COMMIT", nullptr, nullptr, nullptr);
  sqlite3_close(to);
}

/// Every column that the importer asks for, of every row, and nothing done with it.
uint64_t step_alone(base::ByteSpan bytes, std::string const& name) {
  using import::Database;
  using import::TableScan;
  auto database = Database::open(bytes, name, UINT64_MAX);
  if (!database) {
    fmt::print(stderr, "stepscope: {}\n", database.error().message);
    std::exit(2);
  }

  uint64_t rows = 0;
  auto const count = [&](char const* table, std::initializer_list<std::string_view> columns) {
    TableScan scan(*database, table, columns);
    while (scan.next()) ++rows;
  };

  count("StringIds", {"id", "value"});
  count("CUPTI_ACTIVITY_KIND_RUNTIME",
        {"start", "end", "globalTid", "correlationId", "nameId", "returnValue"});
  count("CUPTI_ACTIVITY_KIND_KERNEL", {"start",
                                       "end",
                                       "deviceId",
                                       "contextId",
                                       "streamId",
                                       "correlationId",
                                       "globalPid",
                                       "demangledName",
                                       "shortName",
                                       "registersPerThread",
                                       "gridX",
                                       "gridY",
                                       "gridZ",
                                       "blockX",
                                       "blockY",
                                       "blockZ",
                                       "staticSharedMemory",
                                       "dynamicSharedMemory",
                                       "graphNodeId",
                                       "graphId"});
  count("CUPTI_ACTIVITY_KIND_MEMCPY",
        {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
         "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId"});
  count("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
         "syncType", "eventId", "eventSyncId"});

  count("NVTX_EVENTS",
        {"start", "end", "eventType", "globalTid", "domainId", "textId", "text", "category",
         "color", "uint64Value", "int64Value", "doubleValue", "uint32Value", "int32Value",
         "floatValue", "jsonTextId", "jsonText", "binaryData"});
  count("OSRT_API", {"start", "end", "globalTid", "nameId"});
  count("GPU_METRICS", {"timestamp", "typeId", "metricId", "value"});
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = argc > 1 ? argv[1] : "4000000";
  bool const is_count = path.find_first_not_of("0123456789") == std::string::npos;
  if (is_count) {
    int64_t const rows = std::strtoll(path.c_str(), nullptr, 10);
    path = (std::filesystem::temp_directory_path() / "stepscope_bench_nsys.sqlite").string();
    make_export(path, rows);
  }

  auto const mapped = base::MappedFile::open(path);
  if (!mapped) {
    fmt::print(stderr, "stepscope: {}\n", mapped.error().message);
    return 2;
  }

  uint64_t rows = 0, events = 0;
  double const stepping = median_s([&] { rows = step_alone(mapped->bytes(), path); });
  double const reading = median_s([&] {
    auto const traces = import::read_nsys_export(import::Input(mapped->bytes(), path));
    if (!traces) {
      fmt::print(stderr, "stepscope: {}\n", traces.error().message);
      std::exit(2);
    }
    events = 0;
    for (auto const& trace : *traces) events += trace.event_count();
  });

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}, {} rows, {} events\n", base::format_bytes(mapped->bytes().size()),
             base::format_count(rows), base::format_count(events));
  fmt::print("SQLite alone, all columns     {:6.3f} s  {:5.2f} M rows/s\n", stepping,
             static_cast<double>(rows) / stepping / 1e6);
  fmt::print("to traces                     {:6.3f} s  {:5.2f} M rows/s\n", reading,
             static_cast<double>(rows) / reading / 1e6);
  fmt::print("most memory held, with the file's pages   {}\n",
             base::format_bytes(static_cast<uint64_t>(usage.ru_maxrss) << 10U));

  if (is_count) std::filesystem::remove(path);
  return 0;
}
