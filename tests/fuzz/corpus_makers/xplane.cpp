// The first inputs of fuzz_xplane: make_xplane_corpus FOLDER.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/support/xspace_writer.h"

namespace {

using namespace stepscope::support;

std::string gpu() {
  PlaneWriter plane("/device:GPU:0");
  plane.line(7, "Stream #7(Kernel,MemcpyH2D)", 1000);
  plane.event("MemcpyH2D", 0, 4000,
              {{"correlation_id", uint64_t{7}},
               {"memcpy_details", Reference{"kind_src:pinned size:64 dest:0"}}});
  plane.event("gemm", 5000, 9000,
              {{"correlation_id", uint64_t{8}},
               {"kernel_details", Reference{"regs:4 grid:8,1,1 block:64,1,1 occ_pct:50"}}});
  plane.event("Memset", 14'000, 500, {{"Memset_details", std::string("kind:device num_bytes:64")}});
  plane.event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 15'000, 9000,
              {{"cuda_graph_id", uint64_t{2}}});

  plane.line(8, "XLA Ops", 1000).event("fusion", 0, 9000);
  plane.line(9, "_counters_", 0).event("power_mw", 0, 0, {{"power_mw", 2.5}});
  plane.line(10, "Steps", 0).event("1", 0, 9000, {{"group_id", int64_t{4}}});

  return plane.stat("gpu_device_name", std::string("GPU"))
      .stat("memory_size", uint64_t{1} << 40U)
      .message();
}

std::string tpu() {
  PlaneWriter plane("/device:TPU:1");
  plane.describe("%fusion.1 = f32[8] fusion()", "fusion.1",
                 {{"hlo_category", Reference{"loop fusion"}}, {"flops", uint64_t{9}}});

  plane.line(1, "Steps", 0).event("3", 0, 90'000);
  plane.line(2, "XLA Ops", 0)
      .event("while.1", 0, 50'000)
      .event("%fusion.1 = f32[8] fusion()", 0, 9000);
  plane.event("all-gather-start.2", 9000, 1000)
      .event("all-gather-done.2", 30'000, 9000)
      .event("copy-done.3", 40'000, 1000);

  return plane.message();
}

std::string host() {
  PlaneWriter plane("/host:CPU");
  plane.line(-5, "python/-5", 0)
      .event("train", 0, 9000, {{"step_num", int64_t{3}}})
      .event("mark", 1, 0);
  plane.event("MemoryAllocation", 5, 0,
              {{"allocator_name", Reference{"GPU_0_bfc"}}, {"bytes_allocated", int64_t{64}}});

  plane.line(-5, "Host Threads/-5", 0)
      .event("cuLaunchKernel", 1000, 500, {{"correlation_id", uint64_t{8}}});
  plane.raw_event(MessageWriter().varint(1, 1).varint(5, 3).text());

  return plane.message();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const folder = argv[1];

  PlaneWriter environment("Task Environment");
  environment.stat("profile_start_time", uint64_t{1'700'000'000'000'000'000});
  std::string const all = write_space({gpu(), host(), environment.message()}, "node");

  auto const write = [&](char const* name, std::string const& bytes) {
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  };

  write("gpu.xplane.pb", all);
  write("tpu.xplane.pb", write_space({tpu()}));
  write("cut.xplane.pb", all.substr(0, all.size() / 2));
  return 0;
}
