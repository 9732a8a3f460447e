// Profiles of XLA made by hand for tests, and their events as text.
#pragma once

#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/xspace_writer.h"
#include "trace/import/formats/xplane/xplane_importer.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::import::made {

using support::MessageWriter;
using support::PlaneWriter;
using support::Reference;
using support::write_space;
using Events = std::multiset<std::string>;

inline constexpr int64_t kUs = 1'000'000;  // ps

inline base::Expected<model::Trace> try_to_read_profile(std::string const& bytes,
                                                        std::string const& name = "host.xplane.pb",
                                                        size_t piece_bytes = 4096) {
  return read_xplane(Input(std::as_bytes(std::span(bytes)), name), piece_bytes);
}

inline model::Trace read_profile(std::string const& bytes,
                                 std::string const& name = "host.xplane.pb") {
  auto trace = try_to_read_profile(bytes, name);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : model::TraceBuilder().finish();
}

/// "track: kind name start+dur".
inline Events events_of(model::Trace const& trace) {
  Events events;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    events.insert(fmt::format("{}: {} {} {}+{}", trace.track(row).name,
                              kind_info(trace.kind(row)).name, trace.name(row), trace.start(row),
                              trace.end(row) - trace.start(row)));
  }
  return events;
}

inline uint32_t row_named(model::Trace const& trace, std::string_view name) {
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.name(row) == name) return row;
  ADD_FAILURE() << "no event " << name;
  return 0;
}

/// A GPU as CUPTI's records describe it, and the thread that launches.
inline PlaneWriter gpu_plane() {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(13, "Stream #13(Kernel,MemcpyH2D)", 1000);
  gpu.event(
      "MemcpyH2D", 0, 4 * kUs,
      {{"correlation_id", uint64_t{7}},
       {"memcpy_details", Reference{"kind_src:pinned kind_dst:device size:4096 dest:0 async:1"}}});
  gpu.event("gemm", 5 * kUs, 10 * kUs,
            {{"correlation_id", uint64_t{8}},
             {"context_id", Reference{"$$1"}},
             {"kernel_details", Reference{"regs:40 static_shared:1024 dynamic_shared:512 "
                                          "grid:8,2,1 block:256,1,1 occ_pct:62.5"}}});
  gpu.event("Memset", 15 * kUs, kUs,
            {{"correlation_id", uint64_t{9}},
             {"Memset_details", std::string("kind:device num_bytes:64 async:1")}});

  gpu.line(20, "Stream #20(Kernel)", 1000);
  gpu.event("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 12 * kUs,
            20 * kUs,
            {{"correlation_id", uint64_t{10}},
             {"kernel_details", std::string("grid:24,1,1 block:512,1,1")}});

  gpu.line(21, "Stream #21(MemoryResidency)", 1000);
  gpu.event("MemoryResidency", 0, 90 * kUs,
            {{"MemoryResidency_details", Reference{"kind:device num_bytes:99 addr:0x10"}}});

  gpu.stat("gpu_device_name", std::string("NVIDIA H100"))
      .stat("device_vendor", std::string("Nvidia"));
  gpu.stat("core_count", int64_t{132}).stat("memory_size", uint64_t{85'000'000'000});
  gpu.stat("peak_teraflops_per_second", 989.5);
  return gpu;
}

inline PlaneWriter host_plane() {
  PlaneWriter host("/host:CPU");
  host.line(77, "python/77", 1000);
  host.event("train", 0, 40 * kUs, {{"_r", int64_t{1}}, {"step_num", int64_t{12}}});

  host.line(77, "Host Threads/77", 1000);
  host.event("cuMemcpyHtoDAsync_v2", -5 * kUs, kUs,
             {{"device_id", uint64_t{0}}, {"correlation_id", uint64_t{7}}});
  host.event("cuLaunchKernel", kUs, kUs, {{"correlation_id", uint64_t{8}}});
  host.event("cuMemsetD8Async", 2 * kUs, kUs, {{"correlation_id", uint64_t{9}}});
  host.event("cuLaunchKernelEx", 3 * kUs, kUs, {{"correlation_id", uint64_t{10}}});
  host.event("cuStreamSynchronize", 4 * kUs, 30 * kUs, {{"device_id", uint64_t{0}}});
  return host;
}

/// A TPU-like device: a loop with an operation, an all-reduce that runs beside one, a copy that is
/// waited for.
inline PlaneWriter tpu_plane(bool with_async_line) {
  PlaneWriter tpu("/device:TPU:0");
  tpu.describe("%fusion.1 = f32[8]{0} fusion(f32[8] %p)", "fusion.1",
               {{"hlo_category", Reference{"loop fusion"}},
                {"flops", uint64_t{4000}},
                {"bytes_accessed", uint64_t{64}}});
  tpu.describe("%fusion.2 = f32[8]{0} fusion(f32[8] %p)", "fusion.2",
               {{"hlo_category", Reference{"all-reduce fusion"}}});

  tpu.line(1, "Steps", 0).event("7", 0, 50 * kUs).event("8", 50 * kUs, 50 * kUs);
  tpu.line(2, "XLA Modules", 0)
      .event("jit_step(1)", 0, 45 * kUs)
      .event("jit_step(1)", 50 * kUs, 45 * kUs);

  tpu.line(3, "XLA Ops", 0);
  for (int64_t const step : {int64_t{0}, 50 * kUs}) {
    tpu.event("while.3", step, 20 * kUs);
    tpu.event("%fusion.1 = f32[8]{0} fusion(f32[8] %p)", step, 10 * kUs);
    tpu.event("all-gather-start.4", step + 20 * kUs, kUs);
    tpu.event("copy-start.9", step + 21 * kUs, kUs);
    tpu.event("%fusion.1 = f32[8]{0} fusion(f32[8] %p)", step + 22 * kUs, 8 * kUs);
    tpu.event("all-gather-done.4", step + 30 * kUs, 5 * kUs);
    tpu.event("copy-done.9", step + 35 * kUs, kUs);
    tpu.event("%fusion.2 = f32[8]{0} fusion(f32[8] %p)", step + 36 * kUs, 4 * kUs);
  }

  if (with_async_line) {
    tpu.line(4, "Async XLA Ops", 0);
    for (int64_t const step : {int64_t{0}, 50 * kUs}) {
      tpu.event("all-gather-start.4", step + 20 * kUs, 15 * kUs);
      tpu.event("copy-start.9", step + 21 * kUs, 15 * kUs);
    }
  }

  tpu.stat("device_type_string", std::string("TPU v4")).stat("peak_teraflops_per_second", 275.0);
  return tpu;
}

}  // namespace stepscope::import::made
