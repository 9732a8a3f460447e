// Databases that are no exports, are cut off, damaged, packed, in use, or made to do harm: a clear
// error, or what can be kept.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <unordered_set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "tests/support/nsys_export.h"
#include "tests/support/packed.h"
#include "tests/support/processor_time.h"
#include "tests/support/sanitized.h"
#include "trace/import/formats/nsys/nsys_importer.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import::nsys {
namespace {

namespace fs = std::filesystem;
using support::nsys_database;
using ::testing::Contains;
using ::testing::HasSubstr;

using ReadTraces = base::Expected<std::vector<model::Trace>>;

ReadTraces read_database(std::string const& bytes) {
  return read_nsys_export(Input(std::as_bytes(std::span(bytes)), "report.sqlite"));
}

std::string error_of(std::string const& bytes) {
  auto const traces = read_database(bytes);
  return traces ? "no error" : traces.error().message;
}

/// `count` ranges of one thread, at 10, 20, …
std::string many_ranges(int count) {
  return fmt::format(
      "{} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT i * 10, i * 10 + 5, "
      "59, 'r' || (i % 7), {} FROM n",
      support::kNsysSchema, count, support::nsys_thread(5, 6));
}

TEST(NsysHostile, WhatIsNoExportSaysWhatItIs) {
  EXPECT_THAT(error_of("hello"), HasSubstr("no SQLite database"));
  EXPECT_THAT(error_of(std::string("SQLite format 3\0", 16)), HasSubstr("no SQLite database"));
  EXPECT_THAT(error_of(std::string("SQLite format 3\0", 16) + std::string(200, '\0')),
              HasSubstr("cut off or damaged"));

  EXPECT_THAT(error_of(nsys_database("CREATE TABLE contacts (name TEXT)")),
              HasSubstr("no export of Nsight Systems; make one with nsys export"));
  EXPECT_THAT(error_of(nsys_database("CREATE TABLE StringTable (_id_ INTEGER, value TEXT); CREATE "
                                     "TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER)")),
              HasSubstr("nvprof"));
  EXPECT_THAT(error_of(nsys_database(support::kNsysSchema)),
              HasSubstr("holds no events, record with nsys profile"));
}

TEST(NsysHostile, IsReadPacked) {
  std::string const bytes = nsys_database(many_ranges(3000));
  for (std::string const& packed :
       {support::packed_by_gzip(bytes), support::packed_by_zstd(bytes)}) {
    EXPECT_TRUE(is_nsys_export(Input(std::as_bytes(std::span(packed)), "x.sqlite.gz")));
    auto const traces = read_database(packed);
    ASSERT_TRUE(traces) << traces.error().message;
    EXPECT_EQ(traces->front().event_count(), 3000U);
    EXPECT_FALSE(traces->front().log().truncated);
  }
}

TEST(NsysHostile, CutAnywhereKeepsWhatIsThereOrSaysThatItIsCut) {
  // Full pages of 512 bytes: every cut loses something else.
  std::string const bytes = nsys_database(many_ranges(400), 512);
  uint32_t most = 0;
  size_t read = 0;
  for (size_t size = 100; size < bytes.size(); size += 353) {
    auto const traces = read_database(bytes.substr(0, size));
    if (!traces) {
      EXPECT_THAT(traces.error().message,
                  ::testing::AnyOf(HasSubstr("cut off"), HasSubstr("damaged"),
                                   HasSubstr("no SQLite database")))
          << size;
      continue;
    }

    ++read;
    EXPECT_TRUE(traces->front().log().truncated) << size;
    EXPECT_THAT(traces->front().log().notes, Contains(HasSubstr("the file is cut off"))) << size;
    most = std::max(most, traces->front().event_count());
  }

  EXPECT_GT(read, 10U);
  EXPECT_GT(most, 300U);
  EXPECT_LT(most, 400U);
}

TEST(NsysHostile, PackedAndCutKeepsWhatIsThere) {
  std::string const bytes = nsys_database(many_ranges(20'000));
  for (std::string const& packed :
       {support::packed_by_gzip(bytes), support::packed_by_zstd(bytes)}) {
    auto const traces = read_database(packed.substr(0, packed.size() * 9 / 10));
    ASSERT_TRUE(traces) << traces.error().message;
    EXPECT_TRUE(traces->front().log().truncated);
    EXPECT_THAT(traces->front().log().notes, Contains(HasSubstr("data are cut off")));
    EXPECT_GT(traces->front().event_count(), 10'000U);
  }
}

TEST(NsysHostile, ADamagedPageCostsWhatIsBehindItInItsTable) {
  std::string bytes = nsys_database(many_ranges(4000), 1024);
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2 / 1024 * 1024),
            bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2 / 1024 * 1024 + 1024), '\x55');

  auto const traces = read_database(bytes);
  ASSERT_TRUE(traces) << traces.error().message;

  EXPECT_TRUE(traces->front().log().truncated);
  EXPECT_THAT(traces->front().log().notes,
              Contains(HasSubstr("table NVTX_EVENTS is damaged behind row")).Times(1));
  EXPECT_GT(traces->front().event_count(), 1000U);
  EXPECT_LT(traces->front().event_count(), 4000U);
}

TEST(NsysHostile, AnyDamageIsSurvived) {
  std::string const whole = nsys_database(support::nsys_job_sql(), 512);
  std::mt19937 random(7);
  size_t read = 0;

  for (int i = 0; i < 600; ++i) {
    std::string bytes = whole;
    for (uint32_t n = 1 + random() % 4; n > 0; --n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    read += read_database(bytes) ? 1 : 0;
  }

  EXPECT_GT(read, 300U);
}

TEST(NsysHostile, ViewsTriggersAndVirtualTablesUnderTheNamesOfTablesAreNotRead) {
  std::string const row = fmt::format("(1, 2, 59, 'real', {})", support::nsys_thread(5, 6));
  std::string const sql =
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
      "globalTid INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES " +
      row +
      ";"
      "CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n) SELECT i AS start, i AS end, 1 AS globalTid, 1 AS nameId FROM n;"
      "CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, globalTid, nameId);"
      "CREATE TRIGGER harm AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END";

  auto const traces = read_database(nsys_database(sql));
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_EQ(traces->front().event_count(), 1U);
  EXPECT_EQ(traces->front().name(0), "real");
}

TEST(NsysHostile, ColumnsThatAreComputedAreNotAskedFor) {
  auto const traces = read_database(nsys_database(fmt::format(
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid INTEGER, "
      "text TEXT AS (hex(zeroblob(60000000))) VIRTUAL);"
      "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) VALUES (1, 2, 59, {})",
      support::nsys_thread(5, 6))));
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->front().name(0), "unnamed");
}

/// A tree of pages in which each page has the next one many times over, as its children: endless if
/// it is believed.
TEST(NsysHostile, PagesThatReferToEachOtherAreNoEndlessTable) {
  std::string bytes = nsys_database(many_ranges(2000), 512);
  constexpr size_t kPage = 512, kInterior = 5, kRightChildAt = 8, kCellsAt = 12;

  // Every inner page of a table points with all its cells at the page of its first cell.
  size_t changed = 0;
  for (size_t page = kPage; page + kPage <= bytes.size(); page += kPage) {
    if (bytes[page] != kInterior) continue;
    auto const cells = static_cast<size_t>(static_cast<uint8_t>(bytes[page + 3]) << 8U |
                                           static_cast<uint8_t>(bytes[page + 4]));

    std::string child;
    for (size_t i = 0; i < cells; ++i) {
      auto const at =
          static_cast<size_t>(static_cast<uint8_t>(bytes[page + kCellsAt + 2 * i]) << 8U |
                              static_cast<uint8_t>(bytes[page + kCellsAt + 2 * i + 1]));
      if (i == 0) child = bytes.substr(page + at, 4);
      bytes.replace(page + at, 4, child);
    }

    bytes.replace(page + kRightChildAt, 4, child);
    ++changed;
  }

  ASSERT_GT(changed, 0U);
  auto const traces = read_database(bytes);
  EXPECT_TRUE(!traces || traces->front().event_count() < bytes.size() / 6 + 1000);
}

/// Rows i = 1 … count.
std::string rows_sql(std::string const& insert, std::string const& values, uint64_t count) {
  return fmt::format(
      "INSERT INTO {} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
      "SELECT {} FROM n;",
      insert, count, values);
}

TEST(NsysHostile, ManyProcessesOfFewNamesEachTakeNoMemoryForAllNames) {
  if (support::kSanitized) GTEST_SKIP() << "sanitizers keep what is freed";
  constexpr uint64_t kNames = 200'000, kProcesses = 1000;
  std::string const bytes = nsys_database(
      support::kNsysSchema + rows_sql("StringIds (id, value)", "i, 'name ' || i", kNames) +
      rows_sql("NVTX_EVENTS (start, end, eventType, textId, globalTid)",
               fmt::format("i, i + 1, 59, i * 100, {} + (i << 24)", support::nsys_thread(0, 1)),
               kProcesses));

  auto const most_held = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) << 10U;
  };

  uint64_t const before = most_held();
  auto const traces = read_database(bytes);
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), kProcesses);
  for (size_t i = 0; i < kProcesses; ++i)
    EXPECT_EQ((*traces)[i].name(0), fmt::format("name {}", 100 * (i + 1)));

  // A place for each name in each process alone is 763 MiB.
  EXPECT_LT(most_held() - before, uint64_t{300} << 20U);
}

/// The number of the name of a range of the test below, whose four groups of ranges start at 0,
/// 1000, 100,000 and 200,000.
int64_t name_of_range_at(int64_t start) {
  if (start < 1000) return start * 1000;
  if (start < 100'000) return start - 1000;
  if (start < 200'000) return start - 80'000;
  return (start - 200'000) * 1000;
}

TEST(NsysHostile, AProcessFindsItsNamesWhetherItUsesFewOfThemOrAll) {
  constexpr uint64_t kNames = 20'000;
  auto const ranges = [](char const* names, int64_t start, uint64_t count) {
    return rows_sql(
        "NVTX_EVENTS (start, end, eventType, textId, globalTid)",
        fmt::format("{} + i, {} + i, 59, {}, {}", start, start, names, support::nsys_thread(5, 6)),
        count);
  };

  // From few names that lie far apart to all, then those that the export does not have.
  std::string const bytes = nsys_database(
      support::kNsysSchema + rows_sql("StringIds (id, value)", "i, 'name ' || i", kNames) +
      ranges("i * 1000", 0, 20) + ranges("i", 1000, kNames) + ranges("20000 + i", 100'000, 100) +
      ranges("i * 1000", 200'000, 20));

  auto const traces = read_database(bytes);
  ASSERT_TRUE(traces) << traces.error().message;
  model::Trace const& trace = traces->front();
  ASSERT_EQ(trace.event_count(), kNames + 140);

  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    ASSERT_EQ(trace.name(row), fmt::format("name {}", name_of_range_at(trace.start(row))));
  }
}

/// Ids by which rows of all tables find each other, as multiples of a number.
double seconds_with_ids_of(uint64_t multiple, uint64_t count) {
  auto const ids = fmt::format("i * {}", multiple);
  auto const process = support::nsys_process(5), thread = support::nsys_thread(5, 6);
  std::string const bytes = nsys_database(
      support::kNsysSchema + rows_sql("StringIds (id, value)", ids + ", 'cudaFree'", count) +
      "INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL');" +
      rows_sql("CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, "
               "nameId, returnValue)",
               fmt::format("i, i + 1, 0, {1}, {0}, {0}, 0", ids, thread), count) +
      rows_sql("CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
               "correlationId, globalPid, demangledName, shortName)",
               fmt::format("i, i + 1, 0, 1, 7, {}, {}, 1, 1", ids, process), count) +
      rows_sql("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId, streamId, "
               "correlationId, globalPid, syncType, eventId)",
               fmt::format("i, i + 1, 0, 1, 7, {}, {}, 3, 0", ids, process), count) +
      rows_sql("CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, "
               "bytes, memKind, memoryOperationType, correlationId)",
               fmt::format("i, {1}, 0, 1, {0}, 8, 2, 0, {0}", ids, process), count) +
      rows_sql("OSRT_API (start, end, globalTid, nameId)",
               fmt::format("i, i + 1, ({}) << 24, 1", ids), count) +
      fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (1, 2, "
                  "59, 'ncclAllReduce', {})",
                  thread));

  double const start = support::processor_seconds();
  EXPECT_TRUE(read_database(bytes));
  return support::processor_seconds() - start;
}

TEST(NsysHostile, IdsThatWereChosenToMeetInHashTablesCostNoMoreThanOthers) {
  uint64_t const ids = support::kSanitized ? 20'000 : 80'000;
  // Where the hash of a number is the number, all multiples of the number of buckets are in one of
  // them.
  std::unordered_set<uint64_t> table;
  for (uint64_t i = 0; i < ids; ++i) table.insert(i);
  double const plain = seconds_with_ids_of(1009, ids),
               chosen = seconds_with_ids_of(table.bucket_count(), ids);
  // Otherwise it is a hundred times as much.
  EXPECT_LT(chosen, 10 * plain + 1);
}

class NsysFiles : public ::testing::Test {
 protected:
  NsysFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~NsysFiles() override { fs::remove_all(folder_); }
  void write(std::string const& name, std::string const& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string path(std::string const& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] std::string run_error(std::string const& name) const {
    auto const run = open_run(path(name));
    return run ? "no error" : run.error().message;
  }
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     ("stepscope_nsys_" +
                      std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(NsysFiles, AFolderOfExportsAndOtherDatabasesIsOneRun) {
  write("report.0.sqlite", nsys_database(support::nsys_job_sql()));
  write("packed.sqlite.zst", support::packed_by_zstd(nsys_database(many_ranges(10))));
  write("report.nsys-rep", "not read");
  write("contacts.sqlite", nsys_database("CREATE TABLE contacts (name TEXT)"));

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->ranks.size(), 3U);
  EXPECT_TRUE(std::none_of(run->notes.begin(), run->notes.end(), [](std::string const& note) {
    return note.find("contacts") != std::string::npos;
  }));
}

TEST_F(NsysFiles, ReportsOfSeveralHostsAreNumberedOneBehindTheOther) {
  write("node0.sqlite", nsys_database(support::nsys_job_sql()));
  write("node1.sqlite", nsys_database(support::nsys_job_sql()));

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 4U);
  for (int32_t rank = 0; rank < 4; ++rank) {
    model::RankTrace const& of_rank = run->ranks[static_cast<size_t>(rank)];
    EXPECT_EQ(of_rank.trace.info().rank, rank);
    EXPECT_EQ(of_rank.file, path(rank < 2 ? "node0.sqlite" : "node1.sqlite"));
    ASSERT_EQ(of_rank.trace.devices().size(), 1U);
    EXPECT_EQ(of_rank.trace.devices()[0].id, rank % 2);
  }

  EXPECT_THAT(run->notes, ::testing::Not(Contains(HasSubstr("both say that they are rank"))));
}

TEST_F(NsysFiles, ReportsOfOneProcessEachThatTellNoRankAreNumbered) {
  auto const kernel = [](int64_t process) {
    return nsys_database(
        support::kNsysSchema +
        fmt::format(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
            "globalPid, demangledName, shortName) VALUES (1, 2, 0, 1, 7, {}, 2, 2)",
            support::nsys_process(process)));
  };

  write("a.sqlite", kernel(60));
  write("b.sqlite", kernel(50));

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  EXPECT_EQ(run->ranks[0].trace.info().rank, 0);
  EXPECT_EQ(run->ranks[0].trace.info().process_id, 60);
  EXPECT_EQ(run->ranks[1].trace.info().rank, 1);
}

TEST_F(NsysFiles, AReportThatWasNotExportedSaysWhatToDo) {
  write("report.nsys-rep", std::string(1000, '\x01'));
  EXPECT_THAT(run_error("report.nsys-rep"), HasSubstr("run nsys export --type sqlite"));
  auto const run = open_run(folder_.string());
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("run nsys export --type sqlite"));
}

TEST_F(NsysFiles, ADatabaseThatIsBeingWrittenIsAnError) {
  write("a.sqlite", nsys_database(many_ranges(10)));
  EXPECT_EQ(run_error("a.sqlite"), "no error");

  write("a.sqlite-journal", std::string(512, '\0'));  // of a transaction that is over
  EXPECT_EQ(run_error("a.sqlite"), "no error");

  write("a.sqlite-journal", "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7 and pages");
  EXPECT_THAT(run_error("a.sqlite"), HasSubstr("another program is writing this database"));

  fs::remove(path("a.sqlite-journal"));
  write("a.sqlite-wal", std::string(32, 'x'));  // nothing in it
  EXPECT_EQ(run_error("a.sqlite"), "no error");

  write("a.sqlite-wal", std::string(5000, 'x'));
  EXPECT_THAT(run_error("a.sqlite"), HasSubstr("a.sqlite-wal is there"));
}

TEST_F(NsysFiles, ADatabaseThatWasLeftInWriteAheadModeIsRead) {
  write("a.sqlite", nsys_database(many_ranges(10)));
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path("a.sqlite").c_str(), &connection), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(connection, "PRAGMA journal_mode=WAL; DELETE FROM NVTX_EVENTS WHERE start = 10",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);

  EXPECT_THAT(run_error("a.sqlite"), HasSubstr("another program is writing"));
  sqlite3_close(connection);

  auto const run = open_run(path("a.sqlite"));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->ranks[0].trace.event_count(), 9U);
  EXPECT_FALSE(run->ranks[0].trace.log().truncated);
}

}  // namespace
}  // namespace stepscope::import::nsys
