// Databases of rocpd, made here by SQLite: what their rows say, worked out by hand; several
// captures and processes in one, missing tables, cut and absurd ones.
#include "trace/import/formats/rocpd/rocpd_importer.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/nsys_export.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import::rocpd_tests {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using model::CopyDetail;
using model::CopyDirection;
using model::EventKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Tables of one capture, with the columns that are read. `$` stands for the end of their names.
constexpr std::string_view kRocpdSchema = R"(
CREATE TABLE rocpd_string$ (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
CREATE TABLE rocpd_info_node$ (id INTEGER PRIMARY KEY, hostname TEXT);
CREATE TABLE rocpd_info_process$ (id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, command TEXT,
  environment JSONB DEFAULT '{}' NOT NULL);
CREATE TABLE rocpd_info_thread$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER);
CREATE TABLE rocpd_info_agent$ (id INTEGER PRIMARY KEY, pid INTEGER, type TEXT, type_index INTEGER,
  name TEXT, product_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol$ (id INTEGER PRIMARY KEY, pid INTEGER, kernel_name TEXT,
  display_name TEXT, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER);
CREATE TABLE rocpd_track$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name_id INTEGER);
CREATE TABLE rocpd_event$ (id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER,
  extdata JSONB DEFAULT '{}' NOT NULL);
CREATE TABLE rocpd_region$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT,
  "end" BIGINT, name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_sample$ (id INTEGER PRIMARY KEY, track_id INTEGER, timestamp BIGINT,
  event_id INTEGER);
CREATE TABLE rocpd_kernel_dispatch$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,
  agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT,
  "end" BIGINT, group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
  workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,
  event_id INTEGER);
CREATE TABLE rocpd_memory_copy$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start BIGINT,
  "end" BIGINT, name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER,
  stream_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_allocate$ (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER,
  agent_id INTEGER, type TEXT, level TEXT, start BIGINT, "end" BIGINT, address INTEGER,
  size INTEGER, event_id INTEGER);
CREATE VIEW kernels$ AS SELECT * FROM rocpd_kernel_dispatch$;
)";

/// A process with a row of everything. `@` stands for its pid.
constexpr std::string_view kRocpdRows = R"(
INSERT INTO rocpd_string$ (id, string) VALUES (1,'HIP_RUNTIME_API_EXT'), (2,'hipLaunchKernel'),
  (3,'MARKER_CORE_RANGE_API'), (4,'roctxThreadRangeA'), (5,'RCCL_API'), (6,'ncclAllReduce'),
  (7,'KERNEL_DISPATCH'), (8,'MEMORY_COPY_HOST_TO_DEVICE'), (9,'MEMORY_ALLOCATION'),
  (10,'hipMalloc');
INSERT INTO rocpd_info_node$ VALUES (9, 'node7');
INSERT INTO rocpd_info_process$ VALUES (@, 9, @, 'python train.py', '{"RANK":"3","WORLD_SIZE":"8"}');
INSERT INTO rocpd_info_thread$ VALUES (@, @, @);
INSERT INTO rocpd_info_agent$ VALUES (0,@,'CPU',0,'EPYC','EPYC'), (1,@,'GPU',0,'gfx942','MI300X');
INSERT INTO rocpd_info_kernel_symbol$ VALUES (1,@,'_Z4gemm.kd','void gemm<float>(float*)',32,8),
  (2,@,'ncclDevKernel_Generic_1.kd','',32,0);
INSERT INTO rocpd_track$ VALUES (1,@,@,3);
INSERT INTO rocpd_event$ VALUES (1,1,11,'{}'), (2,3,20,'{"message":"ProfilerStep#7"}'),
  (3,3,21,'{"message":"here"}'), (4,5,30,'{}'), (5,1,31,'{}'), (6,7,11,'{}'), (7,7,31,'{}'),
  (8,0,40,'{}'), (9,1,50,'{}'), (10,9,50,'{}');
INSERT INTO rocpd_region$ VALUES (11,@,@,102,105,2,1), (20,@,@,100,190,4,2), (30,@,@,120,128,6,4),
  (31,@,@,122,125,2,5), (50,@,@,160,170,10,9);
INSERT INTO rocpd_sample$ VALUES (21,1,110,3);
INSERT INTO rocpd_kernel_dispatch$ VALUES
  (1,@,@,1,1,4,2,110,130,640,256,2,1,1000,4,1,6), (2,@,@,1,2,4,2,140,150,0,64,1,1,128,1,1,7);
INSERT INTO rocpd_memory_copy$ VALUES (1,@,@,155,158,8,1,0,4096,2,8);
INSERT INTO rocpd_memory_allocate$ VALUES (1,@,@,1,'ALLOC','REAL',161,162,65536,512,10),
  (2,@,@,1,'ALLOC','SCRATCH',163,164,0,99,10);
)";

std::string filled(std::string_view sql, std::string const& ending, int pid = 77) {
  std::string text;

  for (char const c : sql) {
    if (c == '$')
      text += ending;
    else if (c == '@')
      text += std::to_string(pid);
    else
      text += c;
  }
  return text;
}

std::string capture_sql(std::string const& ending = "_0198_aa", int pid = 77) {
  return filled(kRocpdSchema, ending) + filled(kRocpdRows, ending, pid);
}

base::Expected<std::vector<model::Trace>> read_bytes(std::string const& bytes,
                                                     std::string const& name = "77_results.db") {
  Input const input(std::as_bytes(std::span(bytes)), name);
  return read_rocpd(input);
}

model::Trace read_sql(std::string const& sql) {
  auto traces = read_bytes(support::nsys_database(sql));
  EXPECT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(traces->size(), 1U);
  return std::move(traces->front());
}

std::vector<uint32_t> rows_of(model::Trace const& trace, EventKind kind) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == kind) rows.push_back(row);
  return rows;
}

TEST(Rocpd, RowsAreWhatTheJsonOfTheSameCaptureIs) {
  model::Trace const trace = read_sql(capture_sql());

  auto const kernels = rows_of(trace, EventKind::kKernel);
  auto const launches = rows_of(trace, EventKind::kLaunch);
  ASSERT_EQ(kernels.size(), 1U);
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(trace.name(kernels[0]), "void gemm<float>(float*)");
  EXPECT_EQ(trace.detail<model::KernelDetail>(kernels[0]).grid_x, 4U);
  EXPECT_EQ(trace.detail<model::KernelDetail>(kernels[0]).registers_per_thread, 40U);
  EXPECT_EQ(trace.columns().link[kernels[0]].value, launches[0]);

  auto const collectives = rows_of(trace, EventKind::kCollective);
  ASSERT_EQ(collectives.size(), 1U);
  EXPECT_EQ(trace.name(collectives[0]), "ncclDevKernel_Generic_1");
  EXPECT_EQ(trace.detail<CollectiveDetail>(collectives[0]).op, CollectiveOp::kAllReduce);

  auto const copies = rows_of(trace, EventKind::kMemcpy);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(trace.detail<CopyDetail>(copies[0]).direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(trace.detail<CopyDetail>(copies[0]).bytes, 4096U);
}

TEST(Rocpd, RangesOfRoctxHaveTheirTexts) {
  model::Trace const trace = read_sql(capture_sql());
  auto const steps = rows_of(trace, EventKind::kStep);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(trace.detail<model::StepDetail>(steps[0]).index, 7);
  auto const marks = rows_of(trace, EventKind::kMark);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(trace.name(marks[0]), "here");
}

TEST(Rocpd, AllocationsGiveTheirSizesToCallsAndScratchIsNoAllocation) {
  model::Trace const trace = read_sql(capture_sql());
  auto const rows = rows_of(trace, EventKind::kMemory);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(trace.name(rows[0]), "hipMalloc");
  EXPECT_EQ(trace.detail<model::MemoryDetail>(rows[0]).bytes, 512U);
  EXPECT_EQ(trace.detail<model::MemoryDetail>(rows[0]).device, 0);
}

TEST(Rocpd, TheProcessIsDescribedWithItsRank) {
  model::Trace const trace = read_sql(capture_sql());
  EXPECT_EQ(trace.info().rank, 3);
  EXPECT_EQ(trace.info().world_size, 8);
  EXPECT_EQ(trace.info().host, "node7");
  EXPECT_EQ(trace.info().process_id, 77);
  EXPECT_EQ(trace.info().command, "python train.py");
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices()[0].name, "MI300X");
}

TEST(Rocpd, ATaskNumberOfALauncherIsARankOnlyWithOtherTasks) {
  auto const rank_in = [](std::string const& environment) {
    return read_sql(capture_sql() + "UPDATE rocpd_info_process_0198_aa SET environment = '" +
                    environment + "';")
        .info()
        .rank;
  };

  EXPECT_EQ(rank_in(R"({"SLURM_PROCID":"2","SLURM_STEP_NUM_TASKS":"4"})"), 2);
  EXPECT_LT(rank_in(R"({"SLURM_PROCID":"0","SLURM_STEP_NUM_TASKS":"1"})"), 0)
      << "workers that one task starts all inherit its 0";
  EXPECT_LT(rank_in(R"({"PMI_RANK":"0"})"), 0);
  EXPECT_EQ(rank_in(R"({"RANK":"0"})"), 0);
}

TEST(Rocpd, CategoriesOfRocprofSysMeanTheSame) {
  model::Trace const trace = read_sql(
      capture_sql() +
      "UPDATE rocpd_string_0198_aa SET string = 'rocm_hip_api' WHERE id = 1;"
      "UPDATE rocpd_string_0198_aa SET string = 'rocm_marker_api' WHERE id = 3;"
      "INSERT INTO rocpd_string_0198_aa VALUES (20,NULL,'user'), (21,NULL,'load'), "
      "(22,NULL,'KFD_PAGE_FAULT'), (23,NULL,'fault');"
      "INSERT INTO rocpd_event_0198_aa VALUES (20,20,60,'{}'), (21,22,61,'{}');"
      "INSERT INTO rocpd_region_0198_aa VALUES (60,77,77,195,199,21,20), (61,77,77,90,300,23,21);");
  EXPECT_EQ(rows_of(trace, EventKind::kStep).size(), 1U);
  EXPECT_EQ(rows_of(trace, EventKind::kLaunch).size(), 2U);

  std::vector<std::string> ranges;
  for (uint32_t const row : rows_of(trace, EventKind::kRange)) ranges.emplace_back(trace.name(row));
  EXPECT_THAT(ranges, Contains("load"));
  for (uint32_t row = 0; row < trace.event_count(); ++row) EXPECT_NE(trace.name(row), "fault");
  EXPECT_THAT(trace.info().facts, Contains(::testing::Pair("not read", "KFD")));
}

TEST(Rocpd, TextsThatArePackedAreMissed) {
  model::Trace const trace = read_sql(capture_sql() +
                                      "UPDATE rocpd_event_0198_aa SET extdata = 'LZ4F' || extdata "
                                      "WHERE id = 2;");
  EXPECT_TRUE(rows_of(trace, EventKind::kStep).empty());
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("LZ4")));
}

TEST(Rocpd, TimesInATableOfTheirOwnAreRefused) {
  auto const traces = read_bytes(support::nsys_database(
      "CREATE TABLE rocpd_region_a (id INTEGER PRIMARY KEY, start_id INTEGER, end_id INTEGER);"
      "INSERT INTO rocpd_region_a VALUES (1, 2, 3);"));
  ASSERT_FALSE(traces);
  EXPECT_THAT(traces.error().message, HasSubstr("--output-format json"));
}

TEST(Rocpd, OtherDatabasesInAFolderAreNoTraces) {
  EXPECT_TRUE(has_trace_name("77_results.db"));
  EXPECT_FALSE(has_trace_name("Thumbs.db"));
  EXPECT_FALSE(has_trace_name("optuna.db"));
}

TEST(Rocpd, SeveralCapturesInOneDatabaseAreSeveralTraces) {
  auto const traces =
      read_bytes(support::nsys_database(capture_sql("_0198_aa", 77) + capture_sql("_0198_bb", 78)));
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 2U);
  // Both claim rank 3: then neither is believed.
  EXPECT_LT((*traces)[0].info().rank, 0);
  EXPECT_THAT((*traces)[0].log().notes, Contains(HasSubstr("is a guess")));
}

TEST(Rocpd, ViewsOverManyTablesDoNotMatter) {
  std::string view = "CREATE VIEW top AS SELECT id FROM rocpd_region_0198_aa";
  for (int i = 0; i < 20; ++i) view += " UNION ALL SELECT id FROM rocpd_region_0198_aa";
  model::Trace const trace = read_sql(capture_sql() + view);
  EXPECT_EQ(rows_of(trace, EventKind::kKernel).size(), 1U);
}

TEST(Rocpd, TablesWithoutAnEndingAndWithoutDescriptionsAreRead) {
  model::Trace const trace = read_sql(
      "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, start BIGINT, \"end\" BIGINT);"
      "INSERT INTO rocpd_kernel_dispatch VALUES (1, 10, 20);");
  auto const rows = rows_of(trace, EventKind::kKernel);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(trace.name(rows[0]), "kernel 0");
}

TEST(Rocpd, AbsurdNumbersAreNoCrash) {
  model::Trace const trace = read_sql(
      capture_sql() +
      "UPDATE rocpd_kernel_dispatch_0198_aa SET start = -9223372036854775808, \"end\" = 'x', "
      "agent_id = -1, grid_size_x = -5, workgroup_size_x = 0, event_id = -7;"
      "UPDATE rocpd_event_0198_aa SET extdata = '{\"message\":', stack_id = -1;"
      "UPDATE rocpd_region_0198_aa SET tid = -4, name_id = 999;");
  EXPECT_EQ(trace.log().impossible_times, 2U);
  EXPECT_EQ(rows_of(trace, EventKind::kKernel).size(), 1U);
}

TEST(Rocpd, ACutDatabaseIsReadOrRefusedWithAReason) {
  std::string const whole = support::nsys_database(capture_sql());
  for (size_t size = 100; size < whole.size(); size += 512) {
    auto const traces = read_bytes(whole.substr(0, size));
    if (traces)
      EXPECT_TRUE(traces->front().log().truncated);
    else
      EXPECT_FALSE(traces.error().message.empty());
  }
}

TEST(Rocpd, AnEmptyDatabaseSaysHowToRecord) {
  auto const traces = read_bytes(support::nsys_database(filled(kRocpdSchema, "_a")));
  ASSERT_FALSE(traces);
  EXPECT_THAT(traces.error().message, HasSubstr("rocprofv3 --sys-trace"));
}

TEST(Rocpd, TheListOfFormatsTellsItFromNsight) {
  std::string const rocpd = support::nsys_database(capture_sql());
  std::string const nsys = support::nsys_database(support::nsys_job_sql());
  Input const first(std::as_bytes(std::span(rocpd)), "77_results.db");
  Input const second(std::as_bytes(std::span(nsys)), "report.sqlite");
  ASSERT_NE(find_importer(first), nullptr);
  EXPECT_EQ(find_importer(first)->name, "rocpd SQLite");
  EXPECT_EQ(find_importer(second)->name, "Nsight Systems SQLite");
}

TEST(Rocpd, OtherFormatsOfTheSameProcessAreLeftOut) {
  std::vector<std::string> files = {"a/1_results.db", "a/1_results.json", "a/1_results.pftrace",
                                    "a/2_results.json"};
  rocpd_importer().drop_copies(files);
  EXPECT_THAT(files, ElementsAre("a/1_results.db", "a/2_results.json"));
}

}  // namespace
}  // namespace stepscope::import::rocpd_tests
