// rocprofv3's JSON, made here: what records say, worked out by hand, in several versions; cut,
// damaged and absurd ones.
#include "trace/import/formats/rocprofv3/rocprofv3_importer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trace/import/formats/importers.h"
#include "trace/model/derive/clock_drift.h"

namespace stepscope::import::rocprofv3_tests {
namespace {

using model::CollectiveDetail;
using model::CollectiveOp;
using model::CopyDetail;
using model::CopyDirection;
using model::EventKind;
using model::MemoryDetail;
using RocmJson = nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kCpu = 500, kGpu0 = 501, kGpu1 = 502;
constexpr int64_t kBoot = 63'857'000'000'000;
constexpr int kKernels = 11, kCopies = 10, kHip = 5, kHsa = 1, kMarkers = 31, kRccl = 14,
              kAllocations = 16;

RocmJson handle(uint64_t value) { return {{"handle", value}}; }

RocmJson agent(uint64_t id, int type, int number, std::string const& name) {
  return {{"id", handle(id)},
          {"type", type},
          {"cu_count", 304},
          {"name", type == 2 ? "gfx942" : name},
          {"product_name", name},
          {"logical_node_type_id", number},
          {"mem_banks", {{{"heap_type", 1}, {"size_in_bytes", 1000}}}}};
}

RocmJson symbol(int id, std::string const& formatted, std::string const& mangled) {
  return {{"kernel_id", id},
          {"kernel_name", mangled},
          {"arch_vgpr_count", 32},
          {"accum_vgpr_count", 8},
          {"formatted_kernel_name", formatted}};
}

RocmJson timed(int kind, int operation, int64_t start, int64_t end, int correlation, int thread) {
  return {{"size", 1},
          {"kind", kind},
          {"operation", operation},
          {"thread_id", thread},
          {"correlation_id", {{"internal", correlation}, {"external", 0}}},
          {"start_timestamp", kBoot + start},
          {"end_timestamp", kBoot + end}};
}

RocmJson kernel(int64_t start, int64_t end, int correlation, int id, uint64_t gpu = kGpu0,
                int queue = 1, std::optional<int> stream = 0) {
  RocmJson record = timed(kKernels, 2, start, end, correlation, 77);

  record["dispatch_info"] = {{"agent_id", handle(gpu)},
                             {"queue_id", handle(static_cast<uint64_t>(queue))},
                             {"kernel_id", id},
                             {"group_segment_size", 640},
                             {"workgroup_size", {{"x", 256}, {"y", 2}, {"z", 1}}},
                             {"grid_size", {{"x", 1000}, {"y", 4}, {"z", 1}}}};
  if (stream) record["stream_id"] = handle(static_cast<uint64_t>(*stream));
  return record;
}

RocmJson copy(int64_t start, int64_t end, int operation, uint64_t from, uint64_t to, int bytes) {
  RocmJson record = timed(kCopies, operation, start, end, 4, 77);
  record["src_agent_id"] = handle(from);
  record["dst_agent_id"] = handle(to);
  record["bytes"] = bytes;
  return record;
}

RocmJson allocation(int64_t start, int operation, int correlation, uint64_t of, uint64_t bytes) {
  RocmJson record = timed(kAllocations, operation, start, start + 2, correlation, 77);
  record["agent_id"] = handle(of);
  record["address"] = "0x00007f0000000010";
  record["allocation_size"] = bytes;
  return record;
}

RocmJson kinds() {
  RocmJson all = RocmJson::array();
  for (int kind = 0; kind < 32; ++kind)
    all.push_back({{"kind", "OTHER"}, {"operations", RocmJson::array()}});

  all[kHip]["operations"] = {"hipLaunchKernel", "hipDeviceSynchronize", "hipMemcpyAsync",
                             "hipMalloc", "hipFree"};
  all[kHsa]["operations"] = {"hsa_signal_store_screlease"};
  all[kMarkers]["operations"] = {"roctxMarkA", "roctxThreadRangeA"};
  all[kCopies]["operations"] = {"MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST",
                                "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                                "MEMORY_COPY_DEVICE_TO_DEVICE"};
  all[kRccl]["operations"] = {"ncclAllGather", "ncclAllReduce", "ncclGroupStart", "ncclGroupEnd",
                              "ncclCommInitRank"};
  all[kAllocations]["operations"] = {"MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE",
                                     "MEMORY_ALLOCATION_VMEM_ALLOCATE", "MEMORY_ALLOCATION_FREE"};
  return all;
}

RocmJson process(RocmJson records, int pid = 77) {
  return {{"metadata",
           {{"node", {{"hostname", "node7"}}}, {"pid", pid}, {"command", {"python", "train.py"}}}},
          {"agents",
           {agent(kCpu, 1, 0, "EPYC"), agent(kGpu0, 2, 0, "AMD Instinct MI300X"),
            agent(kGpu1, 2, 1, "AMD Instinct MI300X")}},
          {"strings",
           {{"buffer_records", kinds()},
            {"marker_api",
             {{{"key", 20}, {"value", "ProfilerStep#7"}},
              {{"key", 21}, {"value", "forward \"a\""}},
              {{"key", 22}, {"value", "here"}}}}}},
          {"kernel_symbols",
           {symbol(1, "void gemm<float>(float*)", "_Z4gemm.kd"),
            symbol(2, "ncclDevKernel_Generic_1(ncclDevKernelArgs)", "_Z4nccl.kd"),
            symbol(3, "__amd_rocclr_copyBuffer", "__amd_rocclr_copyBuffer.kd"),
            symbol(4, "__amd_rocclr_fillBufferAligned", "__amd_rocclr_fillBufferAligned.kd")}},
          {"callback_records", {{"counter_collection", RocmJson::array()}}},
          {"buffer_records", std::move(records)}};
}

std::string capture(std::vector<RocmJson> processes) {
  return RocmJson{{"rocprofiler-sdk-tool", std::move(processes)}}.dump();
}

base::Expected<std::vector<model::Trace>> read_text(std::string const& text,
                                                    std::string const& name = "77_results.json") {
  Input const input(std::as_bytes(std::span(text)), name);
  EXPECT_TRUE(is_rocprofv3_json(input));
  return read_rocprofv3_json(input);
}

model::Trace read_one(RocmJson records) {
  auto traces = read_text(capture({process(std::move(records))}));
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

std::vector<std::string> track_names(model::Trace const& trace) {
  std::vector<std::string> names;
  for (model::Track const& track : trace.tracks()) names.push_back(track.name);
  return names;
}

TEST(Rocprofv3, KernelsHaveTheirNamesShapesAndDevices) {
  model::Trace const trace =
      read_one({{"kernel_dispatch", {kernel(10, 30, 1, 1), kernel(40, 45, 2, 1, kGpu1)}}});

  auto const rows = rows_of(trace, EventKind::kKernel);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(trace.name(rows[0]), "void gemm<float>(float*)");
  EXPECT_EQ(trace.start(rows[0]), kBoot + 10);
  EXPECT_EQ(trace.end(rows[0]), kBoot + 30);

  auto const& detail = trace.detail<model::KernelDetail>(rows[0]);
  EXPECT_EQ(detail.grid_x, 4U);  // 1000 threads in blocks of 256
  EXPECT_EQ(detail.grid_y, 2U);
  EXPECT_EQ(detail.block_x, 256U);
  EXPECT_EQ(detail.registers_per_thread, 40U);
  EXPECT_EQ(detail.shared_memory_bytes, 640U);

  ASSERT_EQ(trace.devices().size(), 2U);
  EXPECT_EQ(trace.devices()[1].id, 1);
  EXPECT_EQ(trace.devices()[1].name, "AMD Instinct MI300X");
  EXPECT_EQ(trace.devices()[1].capacity_bytes, 1000U);
  EXPECT_EQ(trace.track(rows[1]).device, 1);
  EXPECT_EQ(trace.info().host, "node7");
  EXPECT_EQ(trace.info().command, "python train.py");
  EXPECT_EQ(trace.info().process_id, 77);
}

TEST(Rocprofv3, CallsOfHipAreLinkedWithTheirKernels) {
  model::Trace const trace = read_one({{"kernel_dispatch", {kernel(10, 30, 1, 1)}},
                                       {"hip_api",
                                        {timed(kHip, 0, 2, 5, 1, 77), timed(kHip, 1, 6, 35, 2, 78),
                                         timed(kHip, 4, 36, 37, 3, 78)}}});

  auto const kernels = rows_of(trace, EventKind::kKernel);
  auto const launches = rows_of(trace, EventKind::kLaunch);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(trace.name(launches[0]), "hipLaunchKernel");
  EXPECT_EQ(trace.columns().link[kernels[0]].value, launches[0]);
  EXPECT_EQ(rows_of(trace, EventKind::kSync).size(), 1U);
  EXPECT_EQ(rows_of(trace, EventKind::kMemory).size(), 1U);
  EXPECT_THAT(track_names(trace), ElementsAre("thread 77", "thread 78", "stream 0"));
}

TEST(Rocprofv3, KernelsOfACallOfHsaBelongToTheHipCallAroundIt) {
  model::Trace const trace = read_one({{"kernel_dispatch", {kernel(10, 30, 2, 1)}},
                                       {"hip_api", {timed(kHip, 0, 2, 8, 1, 77)}},
                                       {"hsa_api", {timed(kHsa, 0, 4, 5, 2, 77)}}});

  auto const launches = rows_of(trace, EventKind::kLaunch);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(trace.name(launches[0]), "hipLaunchKernel");
  EXPECT_EQ(trace.columns().link[rows_of(trace, EventKind::kKernel)[0]].value, launches[0]);
  EXPECT_EQ(trace.log().unmatched_launches, 0U);
}

TEST(Rocprofv3, WithoutTracedCallsNoLaunchIsMissed) {
  model::Trace const trace = read_one({{"kernel_dispatch", {kernel(10, 30, 9, 1)}}});
  EXPECT_EQ(trace.log().unmatched_ops, 0U);
}

TEST(Rocprofv3, ACallThatFailedStartsNothing) {
  RocmJson call = timed(kHip, 0, 2, 5, 1, 77);
  call["args"] = {{{"type", "dim3"}, {"name", "grid"}, {"value", "{}"}}};
  call["retval"] = {{"hipError_t_retval", 98}};
  model::Trace const trace = read_one({{"hip_api", {call}}});
  EXPECT_EQ(rows_of(trace, EventKind::kApi).size(), 1U);
}

TEST(Rocprofv3, CopiesHaveDirectionBytesAndPeer) {
  model::Trace const trace =
      read_one({{"memory_copy",
                 {copy(1, 5, 2, kCpu, kGpu0, 100), copy(6, 9, 3, kGpu1, kCpu, 200),
                  copy(10, 12, 4, kGpu0, kGpu0, 300), copy(13, 15, 4, kGpu0, kGpu1, 400),
                  copy(16, 17, 1, kCpu, kCpu, 500)}}});

  auto const rows = rows_of(trace, EventKind::kMemcpy);
  ASSERT_EQ(rows.size(), 4U);
  auto const of = [&](uint64_t bytes) {
    return *std::find_if(rows.begin(), rows.end(), [&](uint32_t row) {
      return trace.detail<CopyDetail>(row).bytes == bytes;
    });
  };
  EXPECT_EQ(trace.detail<CopyDetail>(of(100)).direction, CopyDirection::kHostToDevice);
  EXPECT_EQ(trace.track(of(100)).device, 0);
  EXPECT_EQ(trace.detail<CopyDetail>(of(200)).direction, CopyDirection::kDeviceToHost);
  EXPECT_EQ(trace.track(of(200)).device, 1);
  EXPECT_EQ(trace.detail<CopyDetail>(of(300)).direction, CopyDirection::kDeviceToDevice);
  EXPECT_EQ(trace.detail<CopyDetail>(of(400)).direction, CopyDirection::kPeerToPeer);
  EXPECT_EQ(trace.detail<CopyDetail>(of(400)).peer_device, 1);
  EXPECT_THAT(trace.log().notes, Contains(HasSubstr("from host memory to host memory")));
}

TEST(Rocprofv3, KernelsThatCopyAndFillAreCopiesAndFills) {
  model::Trace const trace =
      read_one({{"kernel_dispatch", {kernel(10, 30, 1, 3), kernel(40, 45, 2, 4)}}});
  EXPECT_EQ(rows_of(trace, EventKind::kMemcpy).size(), 1U);
  EXPECT_EQ(rows_of(trace, EventKind::kMemset).size(), 1U);
}

TEST(Rocprofv3, RangesOfRoctxAreStepsRangesAndMarks) {
  model::Trace const trace =
      read_one({{"marker_api",
                 {timed(kMarkers, 1, 0, 100, 20, 77), timed(kMarkers, 1, 10, 20, 21, 77),
                  timed(kMarkers, 0, 30, 30, 22, 77)}}});

  auto const steps = rows_of(trace, EventKind::kStep);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(trace.detail<model::StepDetail>(steps[0]).index, 7);
  auto const ranges = rows_of(trace, EventKind::kRange);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(trace.name(ranges[0]), "forward \"a\"");
  auto const marks = rows_of(trace, EventKind::kMark);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(trace.name(marks[0]), "here");
}

TEST(Rocprofv3, CallsOfRcclTellWhatTheirKernelsDo) {
  model::Trace const trace =
      read_one({{"kernel_dispatch", {kernel(10, 30, 2, 2), kernel(50, 60, 6, 2)}},
                {"hip_api", {timed(kHip, 0, 4, 6, 2, 77), timed(kHip, 0, 45, 46, 6, 77)}},
                {"rccl_api",
                 {timed(kRccl, 1, 2, 8, 1, 77), timed(kRccl, 2, 40, 41, 3, 77),
                  timed(kRccl, 0, 41, 42, 4, 77), timed(kRccl, 3, 43, 48, 5, 77),
                  timed(kRccl, 4, 70, 80, 7, 77)}}});

  auto const kernels = rows_of(trace, EventKind::kCollective);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(trace.detail<CollectiveDetail>(kernels[0]).op, CollectiveOp::kAllReduce);
  EXPECT_EQ(trace.detail<CollectiveDetail>(kernels[0]).channels, 4U);
  EXPECT_EQ(trace.detail<CollectiveDetail>(kernels[1]).op, CollectiveOp::kAllGather);
  EXPECT_EQ(rows_of(trace, EventKind::kCollectiveCall).size(), 2U);
  EXPECT_EQ(rows_of(trace, EventKind::kApi).size(), 3U);
}

TEST(Rocprofv3, AllocationsGiveTheirSizesToTheCallsOfHip) {
  model::Trace const trace = read_one(
      {{"hip_api", {timed(kHip, 3, 2, 8, 1, 77), timed(kHip, 4, 20, 28, 2, 77)}},
       {"memory_allocation", {allocation(3, 1, 1, kGpu0, 4096), allocation(21, 3, 2, 0, 0)}},
       {"kernel_dispatch", {kernel(10, 12, 9, 1)}}});

  auto const rows = rows_of(trace, EventKind::kMemory);
  ASSERT_EQ(rows.size(), 2U);
  auto const& allocated = trace.detail<MemoryDetail>(rows[0]);
  EXPECT_EQ(trace.name(rows[0]), "hipMalloc");
  EXPECT_EQ(allocated.bytes, 4096U);
  EXPECT_EQ(allocated.allocated_bytes, 4096U);
  EXPECT_EQ(allocated.device, 0);
  EXPECT_EQ(allocated.memory, model::MemoryKind::kDevice);
  auto const& freed = trace.detail<MemoryDetail>(rows[1]);
  EXPECT_EQ(freed.op, model::MemoryOp::kFree);
  EXPECT_EQ(freed.bytes, 4096U);
  EXPECT_EQ(freed.allocated_bytes, 0U);
}

TEST(Rocprofv3, AnAllocationWithoutACallIsARowOfItsOwn) {
  model::Trace const trace = read_one({{"memory_allocation", {allocation(3, 1, 1, kCpu, 64)}}});
  auto const rows = rows_of(trace, EventKind::kMemory);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(trace.detail<MemoryDetail>(rows[0]).memory, model::MemoryKind::kPinned);
  EXPECT_EQ(trace.detail<MemoryDetail>(rows[0]).device, -1);
}

TEST(Rocprofv3, OpsAreOnTheirStreamsAndOlderOnesOnTheirQueues) {
  model::Trace const trace =
      read_one({{"kernel_dispatch",
                 {kernel(10, 20, 1, 1, kGpu0, 4, 2), kernel(30, 40, 2, 1, kGpu0, 5, 2),
                  kernel(50, 60, 3, 1, kGpu0, 5, std::nullopt)}}});
  EXPECT_THAT(track_names(trace), ElementsAre("stream 2", "queue 5"));
}

TEST(Rocprofv3, StreamsByTheHundredAreShownByQueue) {
  RocmJson kernels = RocmJson::array();
  for (int i = 0; i < 100; ++i)
    kernels.push_back(kernel(10 * i + 1, 10 * i + 5, i, 1, kGpu0, i % 2, i));
  model::Trace const trace = read_one({{"kernel_dispatch", kernels}});
  EXPECT_THAT(track_names(trace), ElementsAre("queue 0", "queue 1"));
}

TEST(Rocprofv3, ProcessesAreTracesInTheOrderOfTheirDevices) {
  auto const traces =
      read_text(capture({process({{"kernel_dispatch", {kernel(10, 20, 1, 1, kGpu1)}}}, 78),
                         process({{"kernel_dispatch", {kernel(10, 20, 1, 1, kGpu0)}}}, 77),
                         process({{"kernel_dispatch", RocmJson::array()}}, 76)}));
  ASSERT_TRUE(traces);
  ASSERT_EQ(traces->size(), 2U);
  EXPECT_EQ((*traces)[0].info().process_id, 77);
  EXPECT_EQ((*traces)[1].info().process_id, 78);
  EXPECT_LT((*traces)[0].info().rank, 0);
  EXPECT_THAT((*traces)[0].log().notes, Contains(HasSubstr("order of the processes' devices")));

  std::vector<model::TraceInfo const*> const infos = {&(*traces)[0].info(), &(*traces)[1].info()};
  EXPECT_THAT(model::clocks_of(infos), ElementsAre(0U, 0U));
}

TEST(Rocprofv3, WithoutStatedNumbersAllGpusOfTheMachineCount) {
  RocmJson of_second = process({{"kernel_dispatch", {kernel(10, 20, 1, 1, kGpu1)}}});
  for (RocmJson& each : of_second["agents"]) each.erase("logical_node_type_id");
  auto const traces = read_text(capture({of_second}));
  ASSERT_TRUE(traces);

  ASSERT_EQ(traces->front().devices().size(), 1U);
  EXPECT_EQ(traces->front().devices()[0].id, 1) << "the first GPU is another process's";
}

TEST(Rocprofv3, TheFilesNameTellsTheRank) {
  auto const traces = read_text(capture({process({{"kernel_dispatch", {kernel(1, 2, 1, 1)}}})}),
                                "rank3_results.json");
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->front().info().rank, 3);
}

TEST(Rocprofv3, KernelsWhoseCountersWereCollectedCount) {
  RocmJson counted = process({{"kernel_dispatch", RocmJson::array()}});
  RocmJson const dispatch = kernel(10, 20, 1, 1);
  counted["callback_records"]["counter_collection"] = {
      {{"thread_id", 77}, {"dispatch_data", dispatch}, {"records", RocmJson::array()}}};
  auto const traces = read_text(capture({counted}));
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(rows_of(traces->front(), EventKind::kKernel).size(), 1U);
}

TEST(Rocprofv3, MissingPartsLeaveNumbersInThePlaceOfNames) {
  RocmJson bare = process({{"kernel_dispatch", {kernel(10, 20, 1, 9)}},
                           {"hip_api", {timed(kHip, 300, 1, 2, 1, 77)}},
                           {"scratch_memory", {timed(12, 1, 1, 2, 1, 77)}}});
  bare.erase("agents");
  bare.erase("strings");
  auto const traces = read_text(capture({bare}));
  ASSERT_TRUE(traces);

  model::Trace const& trace = traces->front();
  EXPECT_EQ(trace.name(rows_of(trace, EventKind::kKernel)[0]), "kernel 9");
  EXPECT_EQ(trace.name(rows_of(trace, EventKind::kLaunch)[0]), "hip_api 300");
  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices()[0].id, 0);
  EXPECT_THAT(trace.info().facts,
              Contains(std::pair<std::string, std::string>("not read", "scratch_memory")));
}

TEST(Rocprofv3, ACutFileIsReadUpToTheCut) {
  RocmJson kernels = RocmJson::array();
  for (int i = 0; i < 10; ++i) kernels.push_back(kernel(10 * i + 1, 10 * i + 5, i, 1));
  std::string const whole = capture({process({{"kernel_dispatch", kernels}})});

  auto const traces = read_text(whole.substr(0, whole.rfind("dispatch_info")));
  ASSERT_TRUE(traces) << traces.error().message;
  EXPECT_EQ(rows_of(traces->front(), EventKind::kKernel).size(), 9U);
  EXPECT_TRUE(traces->front().log().truncated);
  EXPECT_THAT(traces->front().log().notes, Contains(HasSubstr("ends in the middle")));
  for (size_t size = 30; size < whole.size(); size += 7) read_text(whole.substr(0, size));
}

TEST(Rocprofv3, AbsurdNumbersAndKindsAreNoCrash) {
  RocmJson huge = kernel(10, 20, 1, 1);
  huge["start_timestamp"] = UINT64_MAX;
  huge["end_timestamp"] = 1;
  huge["correlation_id"] = "x";
  huge["stream_id"] = RocmJson::array({1, 2});
  RocmJson untimed = kernel(10, 20, 1, 1);
  untimed["start_timestamp"] = 0;
  untimed["end_timestamp"] = 0;
  RocmJson words = kernel(10, 20, 1, 1);
  words["dispatch_info"] = 7;
  words["kind"] = -1;

  model::Trace const trace = read_one({{"kernel_dispatch", {huge, untimed, words, 7, "x"}},
                                       {"memory_copy", "none"},
                                       {"hip_api", {{"a", 1}}}});
  EXPECT_EQ(trace.log().impossible_times, 1U);
  EXPECT_EQ(trace.log().dropped, 3U);
}

TEST(Rocprofv3, AnEmptyCaptureSaysHowToRecord) {
  auto const traces = read_text(capture({process({{"kernel_dispatch", RocmJson::array()}})}));
  ASSERT_FALSE(traces);
  EXPECT_THAT(traces.error().message, HasSubstr("--sys-trace --output-format json"));
}

TEST(Rocprofv3, OneProcessWithoutAListIsRead) {
  std::string const text =
      RocmJson{{"rocprofiler-sdk-tool", process({{"kernel_dispatch", {kernel(1, 2, 1, 1)}}})}}
          .dump();
  auto const traces = read_text(text);
  ASSERT_TRUE(traces);
  EXPECT_EQ(traces->size(), 1U);
}

TEST(Rocprofv3, TheListOfFormatsFindsIt) {
  std::string const text = capture({process({{"kernel_dispatch", {kernel(1, 2, 1, 1)}}})});
  Input const input(std::as_bytes(std::span(text)), "out_results.json");
  ASSERT_NE(find_importer(input), nullptr);
  EXPECT_EQ(find_importer(input)->name, "rocprofv3 JSON");
}

TEST(Rocprofv3, ATraceForPerfettoOfTheSameProcessIsLeftOut) {
  std::vector<std::string> files = {"a/1_results.json", "a/1_results.pftrace",
                                    "a/2_results.pftrace"};
  rocprofv3_importer().drop_copies(files);
  EXPECT_THAT(files, ElementsAre("a/1_results.json", "a/2_results.pftrace"));
}

}  // namespace
}  // namespace stepscope::import::rocprofv3_tests
