// What a trace of PyTorch's profiler (Kineto) says of its process, its device ops, its collectives
// and its host events.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/packed.h"
#include "trace/import/formats/chrome/chrome_importer.h"
#include "trace/import/formats/chrome/kineto_arguments.h"
#include "trace/import/formats/importers.h"

namespace stepscope::import::kineto_tests {
namespace {

using model::EventKind;
using support::packed_by_gzip;
using support::packed_by_zstd;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

base::Expected<model::Trace> read_profile(std::string const& text, size_t block_bytes = 4096) {
  return read_chrome_trace(Input(std::as_bytes(std::span(text)), "trace.json"), block_bytes);
}

constexpr char const* kKineto = R"json({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "numSms": 132},
                       {"id": 1, "name": "NVIDIA H100", "totalGlobalMem": 85018279936, "numSms": 132}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
  {"ph": "M", "name": "thread_name", "pid": 55, "tid": "60", "ts": 0, "args": {"name": "thread 60 (python)"
}
},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#6", "pid": 55, "tid": 60, "ts": 100.000, "dur": 900.5},
  {"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "pid": 55, "tid": 60, "ts": 101, "dur": 5},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 55, "tid": 60, "ts": 110, "dur": 20, "args": {"Call stack": "{{{\"]"}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 55, "tid": 60, "ts": 112, "dur": 4, "args": {"correlation": 9}},
  {"ph": "X", "cat": "kernel", "name": "gemm<float, 128>(int)", "pid": 1, "tid": 7, "ts": 120.250, "dur": 30.125,
   "args": {"device": 1, "stream": 7, "correlation": 9, "registers per thread": 32, "shared memory": 1024, "grid": [8, 2, 1], "block": [128, 1, 1],
            "est. achieved occupancy %": 43}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 1, "tid": 20, "ts": 130, "dur": 10,
   "args": {"device": 1, "stream": 20, "correlation": 10, "bytes": 4096}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 1, "tid": 7, "ts": 160, "dur": 1, "args": {"device": 1, "stream": 7, "bytes": 64}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "pid": 1, "tid": 24, "ts": 170, "dur": 50,
   "args": {"device": 1, "stream": 24, "correlation": 11, "grid": [16, 1, 1], "Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800,
            "Group size": 8, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": 41}},
  {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce_TREE_LL128_Sum_float(ncclDevComm*)", "pid": 1, "tid": 24, "ts": 230, "dur": 5, "args": {"device": 1, "stream": 24}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 1, "tid": 7, "ts": 240, "dur": 3,
   "args": {"device": 1, "stream": 7, "wait_on_stream": 24, "wait_on_cuda_event_record_corr_id": 12}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 55, "tid": 60, "ts": 250, "dur": 9, "args": {"correlation": 13}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 55, "tid": 60, "ts": 260, "dur": 9, "args": {"correlation": 14}},
  {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 55, "tid": 60, "ts": 265, "s": "t",
   "args": {"Total Reserved": 4000, "Total Allocated": 3000, "Bytes": -512, "Addr": 77, "Device Id": 1, "Device Type": 1}},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#6", "pid": 1, "tid": 7, "ts": 120, "dur": 50},
  {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": 55, "tid": 60, "ts": 280, "dur": 2},
  {"ph": "s", "id": 9, "cat": "ac2g", "name": "ac2g", "pid": 55, "tid": 60, "ts": 112}
  ],
  "traceName": "x.json", "baseTimeNanoseconds": 1700000000000000000
})json";

model::Trace kineto() {
  auto trace = read_profile(kKineto, 500);
  EXPECT_TRUE(trace) << trace.error().message;
  return std::move(*trace);
}

uint32_t row_of(model::Trace const& trace, EventKind kind, std::string_view name = "") {
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == kind && trace.name(row).find(name) != std::string_view::npos) return row;
  ADD_FAILURE() << "no " << kind_info(kind).name << " " << name;
  return 0;
}

TEST(Kineto, TellsWhoRecordedIt) {
  model::Trace const trace = kineto();
  EXPECT_EQ(trace.info().rank, 3);
  EXPECT_EQ(trace.info().world_size, 8);
  EXPECT_EQ(trace.info().process_id, 55);
  EXPECT_EQ(trace.info().origin_epoch_ns, 1700000000000000000 + 100'000);
  EXPECT_THAT(trace.info().tool, HasSubstr("Kineto"));

  ASSERT_EQ(trace.devices().size(), 1U);  // the other one did nothing
  EXPECT_EQ(trace.devices()[0].id, 1);
  EXPECT_EQ(trace.devices()[0].capacity_bytes, 85018279936U);
  EXPECT_EQ(trace.devices()[0].threads, 132U);
  EXPECT_THAT(trace.log().notes, IsEmpty());
}

TEST(Kineto, DeviceOpsAreOnTheirStreamsWithTheirDetails) {
  model::Trace const trace = kineto();
  uint32_t const kernel = row_of(trace, EventKind::kKernel);
  EXPECT_EQ(trace.track(kernel).kind, model::TrackKind::kStream);
  EXPECT_EQ(trace.track(kernel).device, 1);
  EXPECT_EQ(trace.track(kernel).id, 7);
  EXPECT_EQ(trace.start(kernel), 20'250);
  EXPECT_EQ(trace.end(kernel) - trace.start(kernel), 30'125);

  auto const& detail = trace.detail<model::KernelDetail>(kernel);
  EXPECT_EQ(detail.registers_per_thread, 32U);
  EXPECT_EQ(detail.grid_x, 8U);
  EXPECT_EQ(detail.grid_y, 2U);
  EXPECT_EQ(detail.block_x, 128U);
  EXPECT_EQ(detail.occupancy_percent, 43);

  // Linked to its launch.
  EXPECT_EQ(trace.columns().link[kernel].value, row_of(trace, EventKind::kLaunch));

  auto const& copy = trace.detail<model::CopyDetail>(row_of(trace, EventKind::kMemcpy));
  EXPECT_EQ(copy.bytes, 4096U);
  EXPECT_EQ(copy.direction, model::CopyDirection::kHostToDevice);
  EXPECT_EQ(copy.pinned, 1);
  EXPECT_EQ(trace.track(row_of(trace, EventKind::kMemcpy)).stream_kind, model::StreamKind::kCopy);
  EXPECT_EQ(trace.detail<model::CopyDetail>(row_of(trace, EventKind::kMemset)).bytes, 64U);

  auto const& wait = trace.detail<model::StreamWaitDetail>(row_of(trace, EventKind::kStreamWait));
  EXPECT_EQ(wait.source_stream, 24);
  EXPECT_EQ(wait.source_correlation, 12U);
}

/// As roctracer's traces are: ops say nothing, each is followed by the end of the arrow from its
/// call.
std::string trace_with_arrows(int count, char const* category, int shift_us) {
  std::string events;
  for (int i = 1; i <= count; ++i) {
    events += fmt::format(
        R"json({{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 55, "tid": 60, "ts": {0}, "dur": 2, "args": {{"correlation": {1}}}}},
        {{"ph": "s", "id": {1}, "pid": 55, "tid": 60, "ts": {0}, "cat": "ac2g", "name": "ac2g"}},
        {{"ph": "X", "cat": "kernel", "name": "Cijk", "pid": 2, "tid": 3, "ts": {2}, "dur": 5}},
        {{"ph": "f", "id": {1}, "pid": 2, "tid": 3, "ts": {4}, "cat": "{3}", "name": "ac2g", "bp": "e"}},
)json",
        100 * i, i, 100 * i + 10, category, 100 * i + 10 + shift_us);
  }

  events.resize(events.rfind(','));
  return "{\"traceEvents\": [" + events + "]}";
}

int linked_kernels(model::Trace const& trace) {
  int linked = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) != EventKind::kKernel || !trace.columns().link[row].valid()) continue;
    uint32_t const launch = trace.columns().link[row].value;
    EXPECT_EQ(trace.name(launch), "hipLaunchKernel");
    EXPECT_EQ(trace.start(row) - trace.start(launch), 10'000);
    ++linked;
  }
  return linked;
}

TEST(Kineto, OpsThatSayNothingAreLinkedByTheArrowBehindThemWhereverTheTextIsCut) {
  std::string const text = trace_with_arrows(30, "ac2g", 0);
  for (size_t const block : {100, 130, 170, 300, 700, 1 << 20}) {
    auto const trace = read_profile(text, block);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(linked_kernels(*trace), 30) << block;
    EXPECT_EQ(trace->log().unmatched_launches, 0U);
  }
}

TEST(Kineto, ArrowsOfOtherThingsLinkNothing) {
  auto const others = read_profile(trace_with_arrows(5, "fwd", 0), 300);
  ASSERT_TRUE(others);
  EXPECT_EQ(linked_kernels(*others), 0);
  auto const elsewhere = read_profile(trace_with_arrows(5, "ac2g", 1), 300);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(linked_kernels(*elsewhere), 0);
}

TEST(Kineto, CollectivesSayWhatTheyCommunicate) {
  model::Trace const trace = kineto();
  auto const& gather =
      trace.detail<model::CollectiveDetail>(row_of(trace, EventKind::kCollective, "AllGather"));
  EXPECT_EQ(gather.op, model::CollectiveOp::kAllGather);
  EXPECT_EQ(gather.bytes, 1600U);  // the whole array
  EXPECT_EQ(gather.participants, 8U);
  EXPECT_EQ(gather.sequence, 41U);
  EXPECT_NE(gather.communicator, 0U);
  EXPECT_EQ(gather.algorithm, model::CollectiveAlgorithm::kRing);
  EXPECT_EQ(gather.channels, 16U);

  auto const& reduce =
      trace.detail<model::CollectiveDetail>(row_of(trace, EventKind::kCollective, "AllReduce"));
  EXPECT_EQ(reduce.op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(reduce.protocol, model::CollectiveProtocol::kLl128);
  EXPECT_EQ(reduce.communicator, 0U);

  EXPECT_EQ(trace.track(row_of(trace, EventKind::kCollective)).stream_kind,
            model::StreamKind::kCommunication);
}

TEST(Kineto, HostEventsAreWhatTheyMean) {
  model::Trace const trace = kineto();
  uint32_t const step = row_of(trace, EventKind::kStep);
  EXPECT_EQ(trace.detail<model::StepDetail>(step).index, 6);
  EXPECT_EQ(trace.track(step).name, "thread 60 (python)");
  EXPECT_EQ(trace.end(step) - trace.start(step), 900'500);

  EXPECT_EQ(trace.track(row_of(trace, EventKind::kInputWait)).name, "thread 60 (python)");
  EXPECT_EQ(trace.detail<model::SyncDetail>(row_of(trace, EventKind::kSync)).sync,
            model::SyncKind::kStream);
  EXPECT_EQ(trace.name(row_of(trace, EventKind::kOverhead)), "Buffer Flush");

  auto const& memory =
      trace.detail<model::MemoryDetail>(row_of(trace, EventKind::kMemory, "[memory]"));
  EXPECT_EQ(memory.op, model::MemoryOp::kFree);
  EXPECT_EQ(memory.bytes, 512U);
  EXPECT_EQ(memory.allocated_bytes, 3000U);
  EXPECT_EQ(memory.reserved_bytes, 4000U);
  EXPECT_EQ(memory.device, 1);

  row_of(trace, EventKind::kMemory, "cudaMalloc");
}

TEST(Kineto, ACommunicatorIsTheSameOnAllRanksAndAnotherForOtherGroups) {
  auto const communicator = [](std::string const& group, std::string const& ranks) {
    return read_kineto_arguments(R"({"Collective name": "allreduce", "Process Group Name": ")" +
                                 group + R"(", "Process Group Ranks": ")" + ranks + "\"}")
        .collective.communicator;
  };
  EXPECT_EQ(communicator("1", "[0, 1]"), communicator("1", "[0, 1]"));
  EXPECT_NE(communicator("1", "[0, 1]"), communicator("1", "[2, 3]"));
  EXPECT_NE(communicator("1", "[0, 1]"), communicator("2", "[0, 1]"));
}

TEST(Kineto, OfAMessageBothRanksAreKnownAndItsOwnNumberIsNone) {
  auto const trace = read_profile(
      R"json({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8}, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "pid": 0, "tid": 7, "ts": 10, "dur": 4, "args": {"device": 0, "stream": 7,
     "Collective name": "send", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "3",
     "Process Group Ranks": "[5, 7]", "Rank": 1, "Dst Rank": 7, "Seq": 12}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv(x)", "pid": 0, "tid": 7, "ts": 20, "dur": 4, "args": {"device": 0, "stream": 7,
     "Collective name": "recv", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "3",
     "Process Group Ranks": "[5, 7]", "Rank": 1, "Src Rank": 7, "Seq": 13}}]})json");

  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->event_count(), 2U);

  for (uint32_t row = 0; row < 2; ++row) {
    auto const& message = trace->detail<model::CollectiveDetail>(row);
    EXPECT_EQ(message.op, row == 0 ? model::CollectiveOp::kSend : model::CollectiveOp::kReceive);
    EXPECT_EQ(message.rank, 5);
    EXPECT_EQ(message.peer, 7);
    EXPECT_EQ(message.sequence, 0U) << "each rank counts its own";
    EXPECT_EQ(message.bytes, 32U);
  }
}

TEST(Kineto, OldNamesOfCategoriesAndQuotedNumbersAreKnown) {
  auto const trace = read_profile(R"json({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "Operator", "name": "aten::add", "pid": 25738, "tid": "25738", "ts": 1623142623460111, "dur": 25},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 25738, "tid": 25738, "ts": 1623142623460121, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}},
    {"ph": "X", "cat": "Runtime", "name": "cudaMemcpyAsync", "pid": 25738, "tid": "25738", "ts": 1623142623460130, "dur": 3, "args": {"correlation": 5}},
    {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 1623142623460140, "dur": 19,
     "args": {
  "device" : 0, "stream" : 7, "correlation" : 5, "bytes" : 19267584}},
    {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 1623142623460160, "dur": 19, "args": {"correlation": 6}}]
})json");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->tracks().size(), 2U);
  EXPECT_EQ(trace->info().origin_epoch_ns, 1623142623460111000);

  uint32_t const kernel = row_of(*trace, EventKind::kKernel);
  EXPECT_EQ(trace->track(kernel).id, 7);
  EXPECT_EQ(trace->track(kernel).device, 0);

  EXPECT_EQ(trace->kind(row_of(*trace, EventKind::kMark)), EventKind::kMark);
  EXPECT_TRUE(trace->columns().link[row_of(*trace, EventKind::kLaunch)].valid());
}

TEST(Importers, KnowATraceByItsContent) {
  auto const importer = [](std::string const& text) {
    Importer const* const found = find_importer(Input(std::as_bytes(std::span(text)), "x"));
    return found == nullptr ? std::string_view("none") : found->name;
  };

  EXPECT_EQ(importer(kKineto), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(packed_by_gzip(kKineto)), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(packed_by_zstd(kKineto)), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer(R"( [ {"ph": "X"} ])"), "PyTorch or Chrome JSON");
  EXPECT_EQ(importer("{\"long\": \"" + std::string(200'000, 'x') + "\", \"traceEvents\": []}"),
            "PyTorch or Chrome JSON");

  for (std::string const& other :
       {std::string("{\"schema\": 1, \"findings\": []}"), std::string("[1, 2]"),
        std::string("hello"), std::string(), packed_by_gzip("hello"), std::string("\x1F\x8B")})
    EXPECT_EQ(importer(other), "none");

  EXPECT_TRUE(has_trace_name("a.json.gz") && has_trace_name("a.json") &&
              has_trace_name("b.json.zst"));
  EXPECT_FALSE(has_trace_name("a.txt.gz"));
}

}  // namespace
}  // namespace stepscope::import::kineto_tests
