#include "tests/unit/trace/export/synthetic_traces.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::exporting::testing {
namespace {

using namespace model;

void add_host(TraceBuilder& builder) {
  TrackId const thread = builder.add_track({TrackKind::kThread, "main", 4100, -1, {}, 0});
  TrackId const same_id = builder.add_track({TrackKind::kThread, "main", 4100, -1, {}, 0});
  builder.add_track({TrackKind::kThread, "idle", 4101, -1, {}, 0});
  EventBatch& main = builder.events(thread);
  auto const name = [&](char const* text) { return builder.intern(text); };

  main.add(EventKind::kStep, 0, 1000, name("step"), 0, StepDetail{0});
  main.add(EventKind::kStep, 1000, 1000, name("step"), 0, StepDetail{1});  // touches

  main.add(EventKind::kPhase, 0, 400, name("forward"));
  main.add(EventKind::kInputWait, 0, 100, name("wait for batch"));

  main.add(EventKind::kLaunch, 100, 10, name("cudaLaunchKernel"), 11);
  main.add(EventKind::kLaunch, 110, 10, name("launch of our own"), 12);
  main.add(EventKind::kLaunch, 120, 10, name("cudaMemcpyAsync"), 13);
  main.add(EventKind::kLaunch, 130, 10, name("cudaLaunchKernelExC"), 14);

  main.add(EventKind::kApi, 140, 5, name("cudaEventRecord"), 15);
  main.add(EventKind::kMemory, 200, 50, name("cudaMalloc"), 16,
           MemoryDetail{4096, 1024, 5000, 6000, 0, MemoryOp::kAllocate});
  main.add(EventKind::kMemory, 260, 10, name("free"), 0,
           MemoryDetail{4096, 1024, 3976, 6000, 0, MemoryOp::kFree});

  main.add(EventKind::kSync, 400, 600, name("wait"), 0, SyncDetail{SyncKind::kStream, 0, 7});
  main.add(EventKind::kMark, 400, 0, name("mark"));
  main.add(EventKind::kRange, 400, 0, name("no time"));
  main.add(EventKind::kRange, 400, 0, name("no time"));

  main.add(EventKind::kRange, 1500, 100, name(""));
  main.add(EventKind::kRange, 1600, 10, name("not \xFF text \x01\n\"\\"));
  main.add(EventKind::kOverhead, 1700, 10, name("buffer flush"));
  main.add(EventKind::kCollectiveCall, 1720, 10, name("ncclAllReduce"), 0,
           CollectiveDetail{4096, 99, 5, CollectiveOp::kAllReduce, 2});

  RangeDetail annotated{.category = 3, .color = 0xFF76B900, .payload_type = NumberType::kReal};
  annotated.payload = std::bit_cast<uint64_t>(0.25);
  main.add(EventKind::kAnnotatedRange, 1800, 10, name("annotated"), 0, annotated);
  annotated.payload_type = NumberType::kSigned;
  annotated.payload = static_cast<uint64_t>(int64_t{-7});
  main.add(EventKind::kAnnotatedMark, 1900, 0, name("annotated mark"), 0, annotated);

  EventBatch& second = builder.events(same_id);
  second.add_range(-500, 700, name("begins before"));
  second.add_range(0, 500, name("overlaps"));
}

void add_device(TraceBuilder& builder, int32_t rank) {
  builder.add_device({0, "NVIDIA H100", uint64_t{80} << 30, 132, 1e15});
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "stream 7", 7, 0, StreamKind::kCompute, 0});
  TrackId const copies =
      builder.add_track({TrackKind::kStream, "stream 8", 8, 0, StreamKind::kCopy, 0});
  TrackId const counter =
      builder.add_track({TrackKind::kCounter, "GPU utilization (%)", 0, 0, {}, 0});

  auto const name = [&](char const* text) { return builder.intern(text); };
  KernelDetail kernel;
  kernel.grid_x = 8;
  kernel.grid_y = kernel.grid_z = 1;
  kernel.block_x = 256;
  kernel.block_y = kernel.block_z = 1;
  kernel.registers_per_thread = 40;
  kernel.shared_memory_bytes = 512;
  kernel.occupancy_percent = 75;
  kernel.flops = 1.5e9;

  EventBatch& ops = builder.events(stream);
  ops.add(EventKind::kKernel, 300, 100, name("gemm<float, 4>"), 11, kernel);
  ops.add(EventKind::kKernel, 350, 100, name("overlapping"), 12,
          KernelDetail());  // none of its columns is known
  ops.add(EventKind::kKernel, 360, 10, name("within both"), 0, KernelDetail());
  ops.add(EventKind::kMemset, 450, 10, name("Memset (Device)"), 0, CopyDetail{64});
  ops.add(EventKind::kStreamWait, 460, 40, name("wait for event"), 0, StreamWaitDetail{0, 8, 15});

  int64_t const late = rank * 20;
  ops.add(EventKind::kCollective, 500 + late, 300 - late,
          name("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), 14,
          CollectiveDetail{4096, 99, 5, CollectiveOp::kAllReduce, 2, rank, -1, DataType::kFloat32});

  builder.events(copies).add(EventKind::kMemcpy, 310, 55, name("copy batch"), 13,
                             CopyDetail{1 << 20, CopyDirection::kHostToDevice, -1, 1});

  EventBatch& samples = builder.events(counter);
  samples.add(EventKind::kSample, 0, 0, name("GPU utilization (%)"), 0, SampleDetail{12.5});
  samples.add(EventKind::kSample, 1000, 0, name("GPU utilization (%)"), 0, SampleDetail{100});
}

}  // namespace

model::Trace synthetic_trace(int32_t rank) {
  TraceBuilder builder;
  TraceInfo& info = builder.info();

  info.tool = "a recorder";
  info.host = "node-" + std::to_string(rank);
  info.command = "python train.py";
  info.process_id = 4100;
  info.rank = rank;
  info.world_size = 2;
  info.origin_epoch_ns = 1'700'000'000'000'000'000 + rank * int64_t{1'000'000'000};

  add_host(builder);
  add_device(builder, rank);
  return std::move(builder).finish();
}

ExportFormat const& format_named(std::string_view name) {
  auto const formats = export_formats();
  auto const found = std::find_if(formats.begin(), formats.end(),
                                  [&](ExportFormat const& format) { return format.name == name; });
  EXPECT_NE(found, formats.end()) << name;
  return *found;
}

void write(ExportFormat const& format, std::string const& path,
           std::vector<model::Trace> const& traces, std::vector<int64_t> const& offsets) {
  auto exporter = format.open(path);
  ASSERT_TRUE(exporter) << exporter.error().message;
  for (size_t i = 0; i < traces.size(); ++i) {
    auto const added = (*exporter)->add(traces[i], offsets[i]);
    ASSERT_TRUE(added) << added.error().message;
  }
  auto const finished = (*exporter)->finish();
  ASSERT_TRUE(finished) << finished.error().message;
}

}  // namespace stepscope::exporting::testing
