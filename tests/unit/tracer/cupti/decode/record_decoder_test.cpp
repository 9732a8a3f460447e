#include "tracer/cupti/decode/record_decoder.h"

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"

namespace stepscope::tracer {
namespace {

using model::EventKind;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(Cupti, RecordDecoderTest,
                         testing::Values(Writer::kOldest, Writer::kInstalled),
                         [](auto const& test) {
                           return test.param == Writer::kOldest ? "oldest" : "installed";
                         });

TEST_P(RecordDecoderTest, makes_a_launch_and_its_kernel) {
  add(device_record("H100"));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  add(kernel("_ZN2at4reluEPfi", {200, 450}, 9));
  finish();

  EXPECT_THAT(
      rows(),
      ElementsAre(Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 100, 50, 9},
                  Row{EventKind::kKernel, "at::relu(float*, int)", "stream 7", 200, 250, 9}));

  auto const kernels = details<model::KernelDetail>();
  ASSERT_THAT(kernels, SizeIs(1));
  model::KernelDetail const& detail = kernels[0];
  EXPECT_EQ(std::tuple(detail.grid_x, detail.grid_y, detail.grid_z), std::tuple(10U, 2U, 1U));
  EXPECT_EQ(std::tuple(detail.block_x, detail.block_y, detail.block_z), std::tuple(128U, 2U, 1U));
  EXPECT_EQ(detail.registers_per_thread, 32U);
  EXPECT_EQ(detail.shared_memory_bytes, 1024U);
  EXPECT_EQ(detail.occupancy_percent, 100U);
}

TEST_P(RecordDecoderTest, describes_the_device) {
  add(device_record("NVIDIA H100", 3));
  finish();
  ASSERT_THAT(store.devices(), SizeIs(1));
  model::Device const device = store.devices()[0];
  EXPECT_EQ(device.id, 3);
  EXPECT_EQ(device.name, "NVIDIA H100");
  EXPECT_EQ(device.capacity_bytes, uint64_t{80} << 30);
  EXPECT_EQ(device.threads, 132U);
}

TEST_P(RecordDecoderTest, gives_all_nodes_of_a_graph_the_correlation_of_its_launch) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, {0, 10}, 4));
  for (uint64_t node = 1; node <= 3; ++node) {
    auto record = kernel("node", {node * 100, node * 100 + 50}, 4);
    record.graphId = 2;
    record.graphNodeId = (uint64_t{2} << 32) + node;
    add(record);
  }
  finish();

  for (Row const& row : rows()) EXPECT_EQ(row.correlation, 4U);
  auto const kernels = details<model::KernelDetail>();
  ASSERT_THAT(kernels, SizeIs(3));
  EXPECT_EQ(kernels[2].graph, 2U);
  EXPECT_EQ(kernels[2].graph_node, (uint64_t{2} << 32) + 3);
}

TEST_P(RecordDecoderTest, tells_copies_from_pinned_and_from_pageable_memory) {
  add(copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
           CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 512, {0, 10}, 1));
  add(copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
           CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 64, {20, 30}, 2));
  finish();

  auto const all = rows();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(all[1].name, "Memcpy DtoH (Device -> Pageable)");

  auto const copies = details<model::CopyDetail>();
  EXPECT_EQ(std::tuple(copies[0].bytes, copies[0].direction, copies[0].pinned),
            std::tuple(512U, model::CopyDirection::kHostToDevice, 1));
  EXPECT_EQ(std::tuple(copies[1].bytes, copies[1].direction, copies[1].pinned),
            std::tuple(64U, model::CopyDirection::kDeviceToHost, 0));
}

TEST_P(RecordDecoderTest, names_the_other_device_of_a_peer_copy) {
  auto record = op<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, {0, 10}, 1, 7, 2);
  record.srcDeviceId = 2;
  record.dstDeviceId = 5;
  record.bytes = 4096;
  add(record);
  finish();

  auto const copies = details<model::CopyDetail>();
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].direction, model::CopyDirection::kPeerToPeer);
  EXPECT_EQ(copies[0].peer_device, 5);
  EXPECT_EQ(copies[0].bytes, 4096U);
  EXPECT_EQ(store.tracks().at(0).device, 2);
}

TEST_P(RecordDecoderTest, makes_fills_of_their_own_kind) {
  auto record = op<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, {5, 10}, 1);
  record.bytes = 100;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  add(record);
  finish();
  EXPECT_THAT(rows(), ElementsAre(Row{EventKind::kMemset, "Memset (Device)", "stream 7", 5, 5, 1}));
}

TEST_P(RecordDecoderTest, leaves_out_calls_that_only_ask_something_and_keeps_the_rest) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, {0, 1}, 1));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, {2, 3}, 2));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, {4, 6}, 3));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Row{EventKind::kApi, "cudaEventRecord", "thread 100", 4, 2, 3}));
}

TEST_P(RecordDecoderTest, does_not_call_a_launch_that_failed_a_launch) {
  auto record = runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1);
  record.returnValue = 98;
  add(record);
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::kind, EventKind::kApi)));
}

TEST_P(RecordDecoderTest, says_which_call_reported_first_that_the_gpu_is_lost) {
  auto const fail = [&](uint32_t result, uint64_t at) {
    auto record = runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, {at, at + 5},
                               static_cast<uint32_t>(at));
    record.returnValue = result;
    add(record);
  };
  fail(2, 10);  // out of memory: a program can go on
  fail(710, 20);
  fail(700, 30);
  finish();

  EXPECT_THAT(
      store.info.facts,
      ElementsAre(std::pair<std::string, std::string>(
          "CUDA error", "device-side assert (CUDA error 710), reported by cudaDeviceSynchronize")));
}

TEST_P(RecordDecoderTest, reports_a_driver_call_inside_a_runtime_call_once) {
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, {110, 140}, 9));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, {210, 240},
                  10));  // from another thread, or of Triton
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {300, 350}, 11));
  finish();

  EXPECT_THAT(rows(),
              ElementsAre(Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 100, 50, 9},
                          Row{EventKind::kLaunch, "cuLaunchKernel", "thread 100", 210, 30, 10},
                          Row{EventKind::kLaunch, "cudaLaunchKernel", "thread 100", 300, 50, 11}));
}

TEST_P(RecordDecoderTest, knows_by_the_time_what_is_inside_a_runtime_call) {
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, {110, 140}, 10));  // numbered on its own
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::name, "cudaLaunchKernel")));
}

TEST_P(RecordDecoderTest, waits_a_round_for_the_runtime_call_around_a_driver_call) {
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, {110, 140}, 9));
  round();
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {100, 150}, 9));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::name, "cudaLaunchKernel")));
}

TEST_P(RecordDecoderTest, says_which_stream_a_call_waited_for) {
  add(context_record());
  add(sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, {110, 190}, 5, 13));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, {100, 200}, 5));
  finish();

  EXPECT_THAT(rows(), ElementsAre(Row{EventKind::kSync, "cudaStreamSynchronize", "thread 100", 100,
                                      100, 5}));
  EXPECT_THAT(details<model::SyncDetail>(),
              ElementsAre(AllOf(Field(&model::SyncDetail::sync, model::SyncKind::kStream),
                                Field(&model::SyncDetail::device, 0),
                                Field(&model::SyncDetail::stream, 13))));
}

TEST_P(RecordDecoderTest,
       puts_a_wait_together_whichever_record_comes_first_and_keeps_it_without_the_other) {
  add(context_record());
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, {100, 200}, 5));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, {300, 400}, 6));
  round();
  add(sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, {110, 190}, 5,
                  CUPTI_SYNCHRONIZATION_INVALID_VALUE));
  finish();

  EXPECT_THAT(rows(),
              ElementsAre(Row{EventKind::kSync, "cudaDeviceSynchronize", "thread 100", 100, 100, 5},
                          Row{EventKind::kSync, "cuStreamSynchronize", "thread 100", 300, 100, 6}));
  EXPECT_THAT(details<model::SyncDetail>(),
              ElementsAre(Field(&model::SyncDetail::sync, model::SyncKind::kDevice),
                          // by its name
                          Field(&model::SyncDetail::sync, model::SyncKind::kStream)));
}

TEST_P(RecordDecoderTest, says_which_call_recorded_the_event_that_a_stream_waits_for) {
  add(context_record());
  add(event_record(77, 13, 20));
  add(event_record(77, 14, 22));
  add(event_record(77, 15, 40));  // after the wait
  add(sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, {100, 110}, 30, 9, 77));
  add(sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, {200, 300}, 50,
                  CUPTI_SYNCHRONIZATION_INVALID_VALUE, 77));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, {200, 310}, 50));
  finish();

  EXPECT_THAT(details<model::StreamWaitDetail>(),
              ElementsAre(AllOf(Field(&model::StreamWaitDetail::source_device, 0),
                                Field(&model::StreamWaitDetail::source_stream, 14),
                                Field(&model::StreamWaitDetail::source_correlation, 22U))));
  EXPECT_THAT(details<model::SyncDetail>(),
              ElementsAre(AllOf(Field(&model::SyncDetail::sync, model::SyncKind::kEvent),
                                Field(&model::SyncDetail::stream, 15),
                                Field(&model::SyncDetail::source_correlation, 40U))));
}

TEST_P(RecordDecoderTest, adds_what_was_allocated_to_the_call_and_counts_what_lives) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {100, 200}, 1));
  add(memory_record(kAllocation, 0xA000, 1000, 150, 1));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {300, 400}, 2));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, {500, 600}, 3));
  add(memory_record(kRelease, 0xA000, 0, 550, 3));
  add(memory_record(kAllocation, 0xB000, 50, 350, 2));
  finish();

  auto const memory = details<model::MemoryDetail>();
  ASSERT_THAT(memory, SizeIs(3));
  EXPECT_EQ(memory[0].allocated_bytes, 1000U);
  EXPECT_EQ(memory[1].allocated_bytes, 1050U);
  EXPECT_EQ(memory[2].allocated_bytes, 50U);
  EXPECT_EQ(memory[2].op, model::MemoryOp::kFree);
  EXPECT_EQ(memory[2].bytes, 1000U);
  EXPECT_EQ(memory[2].address, 0xA000U);
}

TEST_P(RecordDecoderTest, keeps_the_account_of_memory_from_before_calls_are_recorded) {
  add(memory_record(kAllocation, 0xA000, 1000, 10, 1));
  round();
  round();
  round();
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {300, 400}, 2));
  add(memory_record(kAllocation, 0xB000, 50, 350, 2));
  finish();

  EXPECT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(details<model::MemoryDetail>(),
              ElementsAre(Field(&model::MemoryDetail::allocated_bytes, 1050U)));
}

TEST_P(RecordDecoderTest, shows_memory_that_no_recorded_call_asked_for) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1));
  add(memory_record(kAllocation, 0xA000, 1000, 10, 2));
  finish();
  EXPECT_THAT(rows(), testing::Contains(
                          Row{EventKind::kMemory, "allocate", "CUDA (thread unknown)", 10, 0, 2}));
}

TEST_P(RecordDecoderTest, names_variables_that_come_with_a_module) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1));
  auto variable = memory_record(kAllocation, 0xA000, 1, 10, 2);
  variable.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC;
  add(variable);
  finish();
  EXPECT_THAT(rows(), testing::Contains(Row{EventKind::kMemory, "module variable",
                                            "CUDA (thread unknown)", 10, 0, 2}));
}

TEST_P(RecordDecoderTest, calls_a_free_of_nothing_an_ordinary_call) {
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020, {0, 5}, 1));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Row{EventKind::kApi, "cudaFree", "thread 100", 0, 5, 1}));
}

TEST_P(RecordDecoderTest, shows_what_the_profiler_itself_cost) {
  CUpti_ActivityOverhead record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 100;
  record.start = kOrigin + 5;
  record.end = kOrigin + 25;
  add(record);
  finish();

  EXPECT_THAT(rows(),
              ElementsAre(Row{EventKind::kOverhead, "CUPTI buffer flush", "thread 100", 5, 20, 0}));
}

TEST_P(RecordDecoderTest, shows_what_cuda_itself_did_as_calls_and_not_as_the_profilers_cost) {
  constexpr uint32_t kCommandBufferFull = 6U << 16;  // not in all headers
  int64_t start = 0;

  for (uint32_t const kind :
       {uint32_t{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER},
        uint32_t{CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING},
        uint32_t{CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING}, kCommandBufferFull,
        uint32_t{CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE}}) {
    CUpti_ActivityOverhead record{};
    record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    record.overheadKind = static_cast<CUpti_ActivityOverheadKind>(kind);
    record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record.objectId.pt.threadId = 100;
    start += 10;
    record.start = kOrigin + static_cast<uint64_t>(start);
    record.end = record.start + 5;
    add(record);
  }

  finish();
  EXPECT_THAT(rows(),
              ElementsAre(Row{EventKind::kApi, "driver compiler", "thread 100", 10, 5, 0},
                          Row{EventKind::kApi, "module loading", "thread 100", 20, 5, 0},
                          Row{EventKind::kApi, "lazy function loading", "thread 100", 30, 5, 0},
                          Row{EventKind::kApi, "command buffer full", "thread 100", 40, 5, 0},
                          Row{EventKind::kOverhead, "CUPTI resource", "thread 100", 50, 5, 0}));
}

TEST_P(RecordDecoderTest, keeps_streams_of_a_second_context_apart) {
  add(kernel("a", {0, 1}, 1, 7, 0));
  auto other = kernel("b", {2, 3}, 2, 7, 0);
  other.contextId = 9;
  add(other);
  add(context_record(1, 0, 7));
  finish();
  ASSERT_THAT(store.tracks(), SizeIs(2));
  EXPECT_EQ(store.tracks()[0].name, "stream 7 (default)");
  EXPECT_EQ(store.tracks()[1].name, "stream 7 of context 9");
}

TEST_P(RecordDecoderTest, holds_a_thousand_streams_and_names_of_ten_thousand_letters) {
  std::string const name(10'000, 'k');
  constexpr uint32_t kStreams = 1000;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (uint32_t stream = 0; stream < kStreams; ++stream)
      add(kernel(name.c_str(), {stream * 10, stream * 10 + 5}, stream + 1, stream + 1, stream % 4));
  finish();

  EXPECT_THAT(store.tracks(), SizeIs(kStreams));
  auto const all = rows();
  ASSERT_THAT(all, SizeIs(2 * kStreams));
  EXPECT_EQ(all[0].name, name);
}

TEST_P(RecordDecoderTest, does_not_trust_the_place_of_a_name_for_longer_than_a_round) {
  std::array<char, 8> place{"first"};
  add(kernel(place.data(), {0, 1}, 1));
  round();
  std::copy_n("other", 6, place.begin());
  add(kernel(place.data(), {2, 3}, 2));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::name, "first"), Field(&Row::name, "other")));
}

TEST_P(RecordDecoderTest, leaves_out_ops_without_possible_times_and_counts_them_for_their_streams) {
  auto untimed = kernel("untimed", {0, 0}, 1);
  untimed.start = untimed.end = 0;
  add(untimed);
  add(kernel("backwards", {20, 10}, 2));
  add(kernel("of another clock", {10, 100'000'000'000'000}, 3));
  add(kernel("good", {10, 20}, 4));
  add(kernel("backwards elsewhere", {20, 10}, 5, 13));
  clock.set_now(100);
  finish();

  EXPECT_EQ(decoder_->untimed(), 4U);
  EXPECT_EQ(store.log.negative_durations, 0U);
  EXPECT_THAT(rows(), ElementsAre(Row{EventKind::kKernel, "good", "stream 7", 10, 10, 4}));
  ASSERT_THAT(store.tracks(), SizeIs(2));
  EXPECT_EQ(store.tracks()[0].dropped, 3U);
  EXPECT_EQ(store.tracks()[1].dropped, 1U);
}

TEST_P(RecordDecoderTest, leaves_out_calls_of_another_clock) {
  clock.set_now(100);
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, {0, 100'000'000'000'000}, 1));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, {0, 5}, 2));
  finish();
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::correlation, 2U)));
  EXPECT_EQ(store.log.unknown_events, 1U);
}

TEST_P(RecordDecoderTest, tells_no_stream_where_its_number_does_not_fit) {
  add(kernel("first context", {0, 1}, 1, 7, 0));
  add(context_record(1, 0, 7));
  add(context_record(9, 0, 7));
  auto wait = sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, {110, 190}, 5, 7);
  wait.contextId = 9;
  add(wait);
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, {100, 200}, 5));
  finish();

  EXPECT_THAT(details<model::SyncDetail>(),
              ElementsAre(AllOf(Field(&model::SyncDetail::device, 0),
                                Field(&model::SyncDetail::stream, -1))));
}

TEST_P(RecordDecoderTest, learns_the_device_of_a_context_that_no_record_describes) {
  auto wait =
      sync_record(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, {100, 110}, 30, 9, 77);
  wait.contextId = 3;
  auto recorded = event_record(77, 9, 20);
  recorded.contextId = 3;

  add(recorded);
  add(wait);
  round();
  add(kernel("on a green context", {200, 300}, 31, 9, 2));  // of context 3
  finish();

  EXPECT_EQ(store.log.unknown_events, 0U);
  EXPECT_THAT(details<model::StreamWaitDetail>(),
              ElementsAre(Field(&model::StreamWaitDetail::source_device, 2)));
}

TEST_P(RecordDecoderTest, does_not_believe_whose_overhead_it_was_where_cupti_is_wrong) {
  decoder_.emplace(api_, false, workarounds_of(cupti::k12v0));
  CUpti_ActivityOverhead record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.threadId = 3'239'786'240;
  record.start = record.end = kOrigin + 5;
  add(record);
  finish();

  ASSERT_THAT(store.tracks(), SizeIs(1));
  EXPECT_EQ(store.tracks()[0].name, "CUDA (thread unknown)");
}

TEST_P(RecordDecoderTest, counts_records_of_kinds_that_it_does_not_model) {
  CUpti_ActivityJit2 jit{};
  jit.kind = CUPTI_ACTIVITY_KIND_JIT;
  add(jit);
  add(kernel("after", {0, 5}, 1));
  finish();
  EXPECT_EQ(store.log.unknown_events, 1U);
  EXPECT_THAT(rows(), SizeIs(1));
}

TEST_P(RecordDecoderTest, reads_no_further_than_a_buffer_that_is_cut_anywhere) {
  add(kernel("whole", {0, 5}, 1));
  size_t const whole = buffer_.bytes().size();
  add(kernel("cut", {10, 15}, 2));
  size_t const both = buffer_.bytes().size();

  for (size_t cut = 1; cut <= both - whole; ++cut) {
    buffer_ = {};
    add(kernel("whole", {0, 5}, 1));
    add(kernel("cut", {10, 15}, 2));
    buffer_.cut(cut);
    complete();
  }

  finish();
  for (Row const& row : rows()) EXPECT_EQ(row.name, "whole");
  EXPECT_EQ(rows().size(), both - whole);
}

TEST_P(RecordDecoderTest, counts_a_record_that_makes_the_rest_unreadable) {
  add(kernel("before", {0, 5}, 1));
  CUpti_ActivityAPI damaged{};
  damaged.kind = static_cast<CUpti_ActivityKind>(200);
  add(damaged);
  add(kernel("behind", {0, 5}, 2));
  finish();
  EXPECT_EQ(store.log.unknown_events, 1U);
  EXPECT_THAT(rows(), ElementsAre(Field(&Row::name, "before")));
  EXPECT_GE(decoder_->unreadable(), 1U);
}

TEST_P(RecordDecoderTest, estimates_how_many_records_lie_behind_one_that_is_unreadable) {
  constexpr uint32_t kBefore = 50, kBehind = 100;
  for (uint32_t i = 0; i < kBefore; ++i) add(kernel("before", {0, 5}, i + 1));
  CUpti_ActivityAPI damaged{};
  damaged.kind = static_cast<CUpti_ActivityKind>(200);
  add(damaged);
  for (uint32_t i = 0; i < kBehind; ++i) add(kernel("behind", {0, 5}, kBefore + i + 1));

  finish();
  EXPECT_THAT(rows(), SizeIs(kBefore));
  EXPECT_NEAR(static_cast<double>(decoder_->unreadable()), kBehind, 2);
}

}  // namespace
}  // namespace stepscope::tracer
