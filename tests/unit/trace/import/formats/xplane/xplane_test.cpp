// Profiles of XLA, made by hand: what GPUs, TPU-like devices and hosts say. What is whole is
// also compared with Protocol Buffers' own library (xplane/), and a real one with an independent
// decoder (real_traces_test.cpp).
#include "trace/import/formats/xplane/xplane_importer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/trace/import/formats/xplane/xplane_profiles.h"
#include "trace/import/formats/importers.h"
#include "trace/import/formats/xplane/line_events.h"
#include "trace/import/formats/xplane/op_names.h"
#include "trace/import/open/open_run.h"

namespace stepscope::import::made {
namespace {

using model::EventKind;
using support::Stats;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

TEST(XPlane, AGpusOpsAreWhatTheyAreAndKnowTheirLaunches) {
  auto gpu = gpu_plane();
  auto host = host_plane();
  model::Trace const trace = read_profile(write_space({gpu.message(), host.message()}, "node-3"));

  EXPECT_EQ(
      events_of(trace),
      (Events{
          "stream 13: memcpy MemcpyH2D 1000+4000", "stream 13: kernel gemm 6000+10000",
          "stream 13: memset Memset 16000+1000",
          "stream 20: collective "
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>) 13000+20000",
          "python: step train 1000+40000", "python: launch cuMemcpyHtoDAsync_v2 -4000+1000",
          "python: launch cuLaunchKernel 2000+1000", "python: launch cuMemsetD8Async 3000+1000",
          "python: launch cuLaunchKernelEx 4000+1000",
          "python: sync cuStreamSynchronize 5000+30000"}));
  EXPECT_EQ(trace.log().unknown_events, 1U) << "how long memory was allocated is no work";
  EXPECT_EQ(trace.log().unmatched_ops + trace.log().unmatched_launches, 0U);
  EXPECT_THAT(trace.log().notes, IsEmpty());

  uint32_t const gemm = row_named(trace, "gemm");
  EXPECT_EQ(trace.name(trace.columns().link[gemm].value), "cuLaunchKernel");
  auto const& kernel = trace.detail<model::KernelDetail>(gemm);
  EXPECT_EQ(kernel.registers_per_thread, 40U);
  EXPECT_EQ(kernel.shared_memory_bytes, 1536U);
  EXPECT_EQ(kernel.grid_x * 100 + kernel.grid_y * 10 + kernel.grid_z, 821U);
  EXPECT_EQ(kernel.block_x, 256U);
  EXPECT_EQ(kernel.occupancy_percent, 63U);

  auto const& copy = trace.detail<model::CopyDetail>(row_named(trace, "MemcpyH2D"));
  EXPECT_EQ(copy.bytes, 4096U);
  EXPECT_EQ(copy.direction, model::CopyDirection::kHostToDevice);
  EXPECT_EQ(copy.pinned, 1U);
  EXPECT_EQ(copy.peer_device, -1);
  EXPECT_EQ(trace.detail<model::CopyDetail>(row_named(trace, "Memset")).bytes, 64U);

  auto const& collective = trace.details<model::CollectiveDetail>()[0];
  EXPECT_EQ(collective.op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(collective.algorithm, model::CollectiveAlgorithm::kRing);
  EXPECT_EQ(collective.channels, 24U);
  EXPECT_EQ(trace.details<model::StepDetail>()[0].index, 12);

  ASSERT_EQ(trace.devices().size(), 1U);
  EXPECT_EQ(trace.devices()[0].name, "NVIDIA H100");
  EXPECT_EQ(trace.devices()[0].threads, 132U);
  EXPECT_EQ(trace.devices()[0].capacity_bytes, 85'000'000'000U);
  EXPECT_EQ(trace.devices()[0].peak_flops, 989.5e12);
  EXPECT_EQ(trace.info().host, "node-3");
}

TEST(XPlane, LinesThatAGpusOpsWereDerivedIntoAreNotCountedAgain) {
  auto gpu = gpu_plane();
  model::Trace const once = read_profile(write_space({gpu.message()}));

  for (char const* const line :
       {"XLA Ops", "Framework Ops", "Framework Name Scope", "Source code", "Launch Stats"}) {
    gpu.line(900, line, 1000);
    gpu.event("fusion.1", 0, 99 * kUs, {{"correlation_id", uint64_t{8}}});
  }
  gpu.line(901, "XLA Modules", 1000).event("jit_step(3)", 0, 99 * kUs);

  model::Trace const again = read_profile(write_space({gpu.message()}));
  Events expected = events_of(once);
  expected.insert("XLA Modules (GPU 0): range jit_step(3) 1000+99000");
  EXPECT_EQ(events_of(again), expected);
  EXPECT_EQ(again.log().unknown_events, once.log().unknown_events);
}

TEST(XPlane, RocmsCopyKernelsAreCopiesOfWhichTheirCallsTell) {
  PlaneWriter gpu("/device:GPU:2");
  gpu.line(17, "Stream #17(Kernel)", 0);
  gpu.event("__amd_rocclr_copyBuffer.kd", 0, kUs,
            {{"correlation_id", uint64_t{3}},
             {"kernel_details", Reference{" grid:16,1,1 block:512,1,1 group_mem:64"}}});
  gpu.event("__amd_rocclr_fillBufferAligned.kd", 2 * kUs, kUs, {});
  gpu.event("Cijk_Ailk.kd", 4 * kUs, kUs,
            {{"kernel_details", Reference{" grid:16,1,1 block:512,1,1 group_mem:64"}}});
  gpu.stat("device_vendor", std::string("AMD"));

  PlaneWriter host("/host:CPU");
  host.line(5, "Host Threads/5", 0);
  host.event("hipMemcpyDtoDAsync", 0, kUs,
             {{"correlation_id", uint64_t{3}},
              {"memcpy_details", Reference{"kind:Unknown size:77 dest:512 async:1"}}});

  model::Trace const trace = read_profile(write_space({gpu.message(), host.message()}));
  uint32_t const copy = row_named(trace, "__amd_rocclr_copyBuffer.kd");
  EXPECT_EQ(trace.kind(copy), EventKind::kMemcpy);
  EXPECT_EQ(trace.detail<model::CopyDetail>(copy).direction, model::CopyDirection::kDeviceToDevice);
  EXPECT_EQ(trace.detail<model::CopyDetail>(copy).bytes, 77U);
  EXPECT_EQ(trace.detail<model::CopyDetail>(copy).peer_device, -1);
  EXPECT_TRUE(trace.columns().link[copy].valid());

  EXPECT_EQ(trace.kind(row_named(trace, "__amd_rocclr_fillBufferAligned.kd")), EventKind::kMemset);
  EXPECT_EQ(trace.detail<model::KernelDetail>(row_named(trace, "Cijk_Ailk.kd")).shared_memory_bytes,
            64U);

  EXPECT_EQ(trace.devices()[0].id, 2);
  EXPECT_EQ(trace.devices()[0].name, "AMD GPU 2");
  EXPECT_THAT(events_of(trace), Contains("host thread 5: launch hipMemcpyDtoDAsync 0+1000"));
}

TEST(XPlane, OfATpuLikeDeviceTheOperationsAreTheOpsWhateverItSaysOfThoseBeside) {
  Events const first_step = {"XLA Ops: kernel fusion.1 0+10000",
                             "XLA Ops: kernel all-gather-start.4 20000+1000",
                             "XLA Ops: kernel copy-start.9 21000+1000",
                             "XLA Ops: kernel fusion.1 22000+8000",
                             "XLA Ops: stream_wait all-gather-done.4 30000+5000",
                             "XLA Ops: stream_wait copy-done.9 35000+1000",
                             "XLA Ops: collective fusion.2 36000+4000",
                             "Async XLA Ops: collective all-gather-start.4 20000+15000",
                             "Async XLA Ops 2: memcpy copy-start.9 21000+15000",
                             "loops, branches and calls (TPU 0): range while.3 0+20000",
                             "XLA Modules (TPU 0): range jit_step(1) 0+45000",
                             "Steps (TPU 0): step 7 0+50000"};

  for (bool const with_async_line : {false, true}) {
    auto tpu = tpu_plane(with_async_line);
    model::Trace const trace = read_profile(write_space({tpu.message()}));
    EXPECT_THAT(events_of(trace), IsSupersetOf(first_step)) << with_async_line;
    EXPECT_EQ(trace.event_count(), 2 * first_step.size());
    EXPECT_EQ(trace.log().overlapping_slices, 0U);

    auto const& kernel = trace.detail<model::KernelDetail>(row_named(trace, "fusion.1"));
    EXPECT_EQ(kernel.flops, 4000);
    EXPECT_EQ(kernel.bytes, 64U);
    EXPECT_EQ(trace.detail<model::CollectiveDetail>(row_named(trace, "fusion.2")).op,
              model::CollectiveOp::kAllReduce);
    EXPECT_EQ(trace.devices()[0].name, "TPU v4");
  }
}

TEST(XPlane, ADevicesOwnStepsHoldTheOpsThatBeginInThem) {
  auto tpu = tpu_plane(true);
  PlaneWriter host("/host:CPU");
  host.line(1, "python", 0).event("train", 1, 10 * kUs, {{"step_num", int64_t{7}}});
  model::Run run;
  run.ranks.push_back({read_profile(write_space({tpu.message(), host.message()})), 0, "host"});

  analyzer::Analysis const analysis = analyzer::analyze(run);
  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].step, 7);
  EXPECT_EQ(analysis.steps[1].step, 8);
  EXPECT_EQ(analysis.steps[0].window.begin, 0);
  EXPECT_EQ(analysis.steps[0].window.end, 40'000);

  // 10 + 1 + 1 + 8; beside them 15 of the all-gather and 4 of the fused all-reduce; of the copy 1
  // is beside neither.
  EXPECT_EQ(analysis.devices[0].time.compute_ns, 2 * 20'000);
  EXPECT_EQ(analysis.devices[0].time.comm_ns, 2 * 19'000);
  EXPECT_EQ(analysis.devices[0].time.exposed_comm_ns, 2 * 9'000);
  EXPECT_EQ(analysis.devices[0].time.exposed_copy_ns, 2 * 1'000);
}

TEST(XPlane, SendsAndReceivesRunFromTheOperationThatIsNotTheirEnd) {
  for (bool const with_async_line : {false, true}) {
    PlaneWriter tpu("/device:TPU:0");
    tpu.describe("recv.2", "", {{"hlo_category", Reference{"host recv"}}});
    tpu.describe("recv-done.2", "", {{"hlo_category", Reference{"host recv-done"}}});
    tpu.line(3, "XLA Ops", 0);
    tpu.event("send.1", 0, kUs).event("fusion.1", kUs, 8 * kUs).event("send-done.1", 9 * kUs, kUs);
    tpu.event("recv.2", 20 * kUs, kUs).event("recv-done.2", 30 * kUs, kUs);

    Events expected = {"XLA Ops: kernel send.1 0+1000",
                       "XLA Ops: kernel fusion.1 1000+8000",
                       "XLA Ops: stream_wait send-done.1 9000+1000",
                       "XLA Ops: kernel recv.2 20000+1000",
                       "XLA Ops: stream_wait recv-done.2 30000+1000",
                       "Async XLA Ops: collective send.1 0+10000",
                       "Async XLA Ops: memcpy recv.2 20000+11000"};

    if (with_async_line) {
      tpu.line(4, "Async XLA Ops", 0).event("copy-start.9", 40 * kUs, kUs);
      expected.insert("Async XLA Ops: memcpy copy-start.9 40000+1000");
    }

    EXPECT_EQ(events_of(read_profile(write_space({tpu.message()}))), expected) << with_async_line;
  }
}

TEST(XPlane, SendsThatTheDevicesOwnLineTellsOfAreThereOnce) {
  PlaneWriter tpu("/device:TPU:0");
  tpu.line(3, "XLA Ops", 0).event("send.1", 0, kUs).event("send-done.1", 9 * kUs, kUs);
  tpu.line(4, "Async XLA Ops", 0).event("send.1", 0, 8 * kUs);
  EXPECT_EQ(events_of(read_profile(write_space({tpu.message()}))),
            (Events{"XLA Ops: kernel send.1 0+1000", "XLA Ops: stream_wait send-done.1 9000+1000",
                    "Async XLA Ops: collective send.1 0+8000"}));
}

TEST(XPlane, ThreadsOfOneIdAreOneWhateverPlaneTellsOfThem) {
  PlaneWriter cpu("/host:CPU"), cupti("/host:CUPTI"), nvtx("/host:NVTX-CUPTI"),
      python("/host:python-tracer"), other("/host:TPU-runtime");

  cpu.line(7, "tf_Compute/7", 0)
      .event("op", 0, 9000)
      .line(8, "tf_Compute/8", 0)
      .event("op", 0, 9000);
  cupti.line(7, "Host Threads/7", 0)
      .event("cuLaunchKernel", 1000, 1000, {{"correlation_id", uint64_t{1}}});
  nvtx.line(7, "Host Threads/7/NVTX", 0).event("NVTX:forward", 500, 3000);
  python.line(7, "", 0).event("$model.py:12 loss", 400, 4000);
  other.line(7, "queue", 0).event("enqueue", 1, 1000);

  model::Trace const trace = read_profile(write_space(
      {cupti.message(), cpu.message(), nvtx.message(), python.message(), other.message()}));

  std::vector<std::string> names;
  for (model::Track const& track : trace.tracks()) names.push_back(track.name);
  EXPECT_THAT(names, ElementsAre("tf_Compute", "tf_Compute #2", "/host:TPU-runtime: queue"));
  EXPECT_EQ(trace.rows_of(model::TrackId{0}).size(), 4U);
  row_named(trace, "forward");
}

TEST(XPlane, HostEventsAreStepsWaitsMarksAndAllocations) {
  PlaneWriter host("/host:CPU");
  host.line(1, "python", 0);
  host.event("train", 0, 9 * kUs, {{"step_num", int64_t{3}}});
  host.event("no step", 0, 9 * kUs, {{"step_num", int64_t{-3}}});
  host.event("instant", kUs, 0);
  host.event("IteratorGetNextOp::DoCompute", 2 * kUs, kUs);
  host.event("cudnnConvolutionForward", 3 * kUs, kUs);
  host.event("hipHelper", 3 * kUs, kUs);

  Stats const memory = {{"allocator_name", Reference{"GPU_5_bfc"}},
                        {"bytes_reserved", int64_t{10}},
                        {"bytes_allocated", int64_t{1000}},
                        {"allocation_bytes", int64_t{256}},
                        {"addr", uint64_t{0xFFFF'0000'0000'0000}}};
  host.event("MemoryAllocation", 4 * kUs, 0, memory);
  host.event("MemoryDeallocation", 5 * kUs, 0, {{"allocator_name", Reference{"gpu_host_bfc"}}});

  model::Trace const trace = read_profile(write_space({host.message()}));
  EXPECT_EQ(events_of(trace),
            (Events{"python: step train 0+9000", "python: range no step 0+9000",
                    "python: mark instant 1000+0",
                    "python: input_wait IteratorGetNextOp::DoCompute 2000+1000",
                    "python: range cudnnConvolutionForward 3000+1000",
                    "python: range hipHelper 3000+1000", "python: memory MemoryAllocation 4000+0",
                    "python: mark MemoryDeallocation 5000+0"}));

  auto const& detail = trace.details<model::MemoryDetail>()[0];
  EXPECT_EQ(detail.device, 5);
  EXPECT_EQ(detail.bytes, 256U);
  EXPECT_EQ(detail.allocated_bytes, 1000U);
  EXPECT_EQ(detail.reserved_bytes, 0U) << "not said";
  EXPECT_EQ(detail.address, 0xFFFF'0000'0000'0000U);
}

TEST(XPlane, CountersAndTheProfilersOwnTimeAreNoWork) {
  auto gpu = gpu_plane();
  uint32_t const before = read_profile(write_space({gpu.message()})).event_count();

  gpu.line(50, "_counters_", 0);
  gpu.event("power_mw", 0, 0, {{"power_mw", 250'000.0}})
      .event("gpu_temp_c", 0, 0, {{"gpu_temp_c", 60.0}});
  gpu.event("power_mw", kUs, 0, {{"power_mw", 260'000.0}});
  gpu.line(51, "CUPTI overhead", 0).event("BUFFER_FLUSH", 0, kUs);

  model::Trace const trace = read_profile(write_space({gpu.message()}));
  EXPECT_EQ(trace.event_count(), before + 4);
  EXPECT_THAT(events_of(trace), Contains("CUPTI overhead (GPU 0): overhead BUFFER_FLUSH 0+1000"));

  std::vector<double> power;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.track(row).name == "power_mw")
      power.push_back(trace.detail<model::SampleDetail>(row).value);
  EXPECT_THAT(power, ElementsAre(250'000.0, 260'000.0));
}

TEST(XPlane, PicosecondsAreRoundedSoThatWhatTouchesStillDoes) {
  EXPECT_EQ(ns_of_ps(499), 0);
  EXPECT_EQ(ns_of_ps(500), 1);
  EXPECT_EQ(ns_of_ps(-500), 0);
  EXPECT_EQ(ns_of_ps(-501), -1);
  EXPECT_EQ(ns_of_ps(INT64_MAX), INT64_MAX / 1000 + 1);
  EXPECT_EQ(ns_of_ps(INT64_MIN), INT64_MIN / 1000 - 1);

  std::mt19937_64 random(1);
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(1, "Stream #1(Kernel)", 123);
  int64_t at = 0;
  for (int i = 0; i < 2000; ++i) {
    auto const length = static_cast<int64_t>(random() % 4000);
    gpu.event("k", at, length);
    at += length;
  }

  model::Trace const trace = read_profile(write_space({gpu.message()}));
  ASSERT_EQ(trace.event_count(), 2000U);
  EXPECT_EQ(trace.log().overlapping_slices, 0U);

  int64_t sum = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) sum += trace.end(row) - trace.start(row);
  EXPECT_EQ(sum, ns_of_ps(at));
}

TEST(XPlane, TimesAreOfTheEpochOrOfTheProfile) {
  constexpr int64_t kEpoch = 1'700'000'000'123'456'789;
  for (bool const is_absolute : {false, true}) {
    PlaneWriter host("/host:CPU"), environment("Task Environment");
    host.line(1, "a", is_absolute ? kEpoch + 5 : 5).event("x", 2000, 1000);
    environment.stat("profile_start_time", uint64_t{kEpoch}).stat("cuda_version", int64_t{12080});

    model::Trace const trace = read_profile(write_space({host.message(), environment.message()}));
    EXPECT_EQ(trace.info().origin_epoch_ns + trace.start(0), kEpoch + 7);
    EXPECT_THAT(trace.info().facts,
                Contains(std::pair<std::string, std::string>("cuda_version", "12080")));
  }
}

TEST(XPlane, SumsOverEventsHaveNoPlaceInTime) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(1, "Stream #1(Kernel)", 0).event("k", 0, kUs);
  gpu.raw_event(
      MessageWriter().varint(1, gpu.event_id("k")).varint(3, 5 * kUs).varint(5, 12).text());

  // The last of two that exclude each other counts.
  gpu.raw_event(MessageWriter()
                    .varint(1, gpu.event_id("k"))
                    .varint(5, 12)
                    .varint(2, 3 * kUs)
                    .varint(3, kUs)
                    .text());

  EXPECT_EQ(events_of(read_profile(write_space({gpu.message()}))),
            (Events{"stream 1: kernel k 0+1000", "stream 1: kernel k 3000+1000"}));
}

TEST(XPlane, IsKnownByItsContent) {
  auto const knows = [](std::string const& bytes) {
    Importer const* const found = find_importer(Input(std::as_bytes(std::span(bytes)), "x"));
    return found != nullptr && found->file_suffix == ".pb";
  };

  auto gpu = gpu_plane();
  EXPECT_TRUE(knows(write_space({gpu.message()})));
  PlaneWriter large("/host:metadata");
  large.describe("module", "", {{"Hlo Proto", std::string(300'000, 'x')}});
  EXPECT_TRUE(knows(write_space({large.message(), gpu.message()})));
  EXPECT_TRUE(knows(write_space({"", gpu.message()}))) << "an empty plane";
  EXPECT_FALSE(knows(""));
  EXPECT_FALSE(knows("\n\nhello world, this is text\n"));

  // A graph of TensorFlow: nodes with a name as their first field. A trace of Perfetto: packets
  // with a time as their eighth.
  std::string const node =
      MessageWriter().bytes(1, "conv").bytes(2, "Conv2D").bytes(3, "input").text();
  EXPECT_FALSE(knows(MessageWriter().bytes(1, node).bytes(1, node).text()));
  std::string const packet =
      MessageWriter().varint(8, 123456).varint(10, 1).bytes(11, "event").text();
  EXPECT_FALSE(knows(MessageWriter().bytes(1, packet).text()));
}

TEST(XPlane, WithoutEventsIsAnError) {
  PlaneWriter host("/host:CPU");
  auto const trace = try_to_read_profile(write_space({host.message()}));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("without events"));
}

TEST(XPlane, WhatTheProfilerSaidIsNoted) {
  auto gpu = gpu_plane();
  std::string const bytes =
      write_space({gpu.message()}) +
      MessageWriter().bytes(2, "out of buffers").bytes(3, "old driver").text();
  EXPECT_THAT(
      read_profile(bytes).log().notes,
      UnorderedElementsAre("the profiler said: out of buffers", "the profiler said: old driver"));
}

TEST(XPlane, HostAndRankAreInTheNameOfTheFile) {
  auto gpu = gpu_plane();
  std::string const bytes = write_space({gpu.message()});
  EXPECT_EQ(read_profile(bytes, "/a/node-3.xplane.pb.gz").info().host, "node-3");
  EXPECT_EQ(read_profile(bytes, "/a/node-3.xplane.pb").info().rank, -1) << "no rank is said";
  EXPECT_EQ(read_profile(bytes, "/a/t1v-n-4c1f03a8-w-11.xplane.pb").info().rank, 11);
  EXPECT_EQ(read_profile(bytes, "/a/rank5.xplane.pb").info().rank, 5);
}

TEST(XPlane, NumbersOfDevicesStayApart) {
  auto gpu = gpu_plane();
  auto tpu = tpu_plane(false);
  model::Trace const trace = read_profile(write_space({gpu.message(), tpu.message()}));
  ASSERT_EQ(trace.devices().size(), 2U);
  EXPECT_EQ(trace.devices()[0].name, "NVIDIA H100");
  EXPECT_EQ(trace.devices()[1].name, "TPU v4");
}

TEST(XPlane, OperationsAreToldByNameAndCategory) {
  using Op = model::CollectiveOp;
  EXPECT_EQ(meaning_of_xla_op("all-reduce.17", "").collective, Op::kAllReduce);
  EXPECT_EQ(meaning_of_xla_op("%all-to-all.2 = (f32[4]) all-to-all(f32[4] %x)", "").collective,
            Op::kAllToAll);
  EXPECT_EQ(meaning_of_xla_op("fusion.9", "all-reduce-scatter fusion").collective,
            Op::kReduceScatter);
  EXPECT_EQ(meaning_of_xla_op("collective-permute-done.1.clone", "").collective, Op::kSend);
  EXPECT_EQ(meaning_of_xla_op("collective-permute-done.1", "").phase, OpPhase::kDone);

  EXPECT_EQ(meaning_of_xla_op("send.1", "send").role, OpRole::kCollective);
  EXPECT_EQ(meaning_of_xla_op("send.1", "host send").role, OpRole::kMemcpy);
  EXPECT_EQ(meaning_of_xla_op("send.1", "host send").phase, OpPhase::kStart);
  EXPECT_EQ(meaning_of_xla_op("recv-done.1", "host recv-done").phase, OpPhase::kDone);
  EXPECT_EQ(meaning_of_xla_op("recv-done.1", "host recv").phase, OpPhase::kDone)
      << "the name says more";

  EXPECT_EQ(meaning_of_xla_op("infeed.1", "infeed").phase, OpPhase::kWhole);
  EXPECT_EQ(meaning_of_xla_op("copy.4", "copy").role, OpRole::kKernel) << "by the core itself";
  EXPECT_EQ(meaning_of_xla_op("copy-start.4", "copy-start").role, OpRole::kMemcpy);
  EXPECT_EQ(meaning_of_xla_op("infeed.1", "infeed").direction, model::CopyDirection::kHostToDevice);

  EXPECT_EQ(meaning_of_xla_op("while.1", "while").role, OpRole::kControlFlow);
  EXPECT_EQ(meaning_of_xla_op("all-reduce_like_fusion.1", "loop fusion").role, OpRole::kKernel);
  EXPECT_EQ(meaning_of_xla_op("sendrecv_fusion.1", "").role, OpRole::kKernel);

  EXPECT_EQ(xla_opcode("all-gather-start.3"),
            xla_opcode("%all-gather-done.4 = f32[8] all-gather-done(...)"));
  EXPECT_EQ(meaning_of_stream_op("ncclKernel_SendRecv").role, OpRole::kCollective);
}

class ProfileFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        fmt::format("xplane-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(std::string const& name, std::string const& bytes) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::filesystem::path folder_;
};

TEST_F(ProfileFolder, HoldsEachProfileOnceAndTheNewestOfALog) {
  auto gpu = gpu_plane();
  std::string const bytes = write_space({gpu.message()});
  std::string const json =
      R"json({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}]})json";

  write("log/plugins/profile/2026_01_01_00_00_00/old.xplane.pb", bytes);
  write("log/plugins/profile/2026_02_01_00_00_00/a.xplane.pb", bytes);
  write("log/plugins/profile/2026_02_01_00_00_00/b.xplane.pb", bytes);
  write("log/plugins/profile/2026_02_01_00_00_00/a.trace.json", json);
  write("log/plugins/profile/2026_02_01_00_00_00/perfetto_trace.json.gz", json);
  write("log/plugins/profile/2026_02_01_00_00_00/a.overview_page.pb",
        "\x0A\x03"
        "abc");
  write("log/plugins/profile/2026_02_01_00_00_00/other.trace.json", json);

  auto const run = open_run((folder_ / "log").string());
  ASSERT_TRUE(run) << run.error().message;

  std::vector<std::string> files;
  for (model::RankTrace const& rank : run->ranks)
    files.push_back(std::filesystem::path(rank.file).filename().string());
  EXPECT_THAT(files, UnorderedElementsAre("a.xplane.pb", "b.xplane.pb", "other.trace.json"));
  EXPECT_THAT(run->notes, ::testing::Each(::testing::Not(HasSubstr("overview"))));
}

TEST_F(ProfileFolder, OfHostsThatSayNoRankEachIsAnother) {
  auto gpu = gpu_plane();
  write("gpu-node-a.xplane.pb", write_space({gpu.message()}));
  write("gpu-node-b.xplane.pb", write_space({gpu.message()}));

  auto const run = open_run(folder_.string());
  ASSERT_TRUE(run) << run.error().message;

  std::vector<int32_t> ranks;
  for (model::RankTrace const& rank : run->ranks) ranks.push_back(rank.trace.info().rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1));
  EXPECT_THAT(run->notes,
              ::testing::Each(::testing::Not(HasSubstr("both say that they are rank"))));
}

}  // namespace
}  // namespace stepscope::import::made
