// GPUs as XLA's collector of CUPTI's records writes them (openxla/xla,
// xla/backends/profiler/gpu/cupti_collector.cc): CUDA graphs, the profiler's own time, kernels of
// XLA's own that communicate.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/import/formats/xplane/xplane_profiles.h"

namespace stepscope::import::made {
namespace {

using support::Stats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The thread that launches a graph, as correlation 8.
PlaneWriter graph_launch_plane() {
  PlaneWriter host("/host:CPU");
  host.line(77, "Host Threads/77", 0);
  host.event("cuGraphLaunch (CudaGraph:5)", 0, kUs,
             {{"device_id", uint64_t{0}},
              {"correlation_id", uint64_t{8}},
              {"cuda_graph_id", uint64_t{5}}});
  return host;
}

TEST(XPlaneOfCupti, OpsOfACommandBufferKnowTheLaunchOfItsGraph) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(13, "Stream #13(Kernel)", 0);
  gpu.event("gemm", 5 * kUs, kUs,
            {{"correlation_id", uint64_t{8}},
             {"cuda_graph_id", uint64_t{5}},
             {"cuda_graph_node_id", uint64_t{3}},
             {"kernel_details", Reference{"grid:8,1,1 block:256,1,1"}}});

  auto host = graph_launch_plane();
  host.event("replay (CudaGraph:5)", 2 * kUs, kUs);

  model::Trace const trace = read_profile(write_space({gpu.message(), host.message()}));
  EXPECT_EQ(events_of(trace), (Events{"stream 13: kernel gemm 5000+1000",
                                      "host thread 77: launch cuGraphLaunch 0+1000",
                                      "host thread 77: range replay (CudaGraph:5) 2000+1000"}));

  uint32_t const gemm = row_named(trace, "gemm");
  ASSERT_TRUE(trace.columns().link[gemm].valid());
  EXPECT_EQ(trace.name(trace.columns().link[gemm].value), "cuGraphLaunch");
  EXPECT_EQ(trace.detail<model::KernelDetail>(gemm).graph, 5U);
  EXPECT_EQ(trace.log().unmatched_ops, 0U);
  EXPECT_THAT(trace.log().notes, IsEmpty());
}

TEST(XPlaneOfCupti, GraphsThatWereRecordedWholeAreNoted) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(13, "Stream #13(CudaGraph)", 0);
  Stats const stats = {{"correlation_id", uint64_t{8}},
                       {"cuda_graph_id", uint64_t{5}},
                       {"cuda_graph_exec_id", uint64_t{5}}};
  gpu.event("CudaGraphExec:5", 5 * kUs, kUs, stats).event("CudaGraphExec:5", 7 * kUs, kUs, stats);

  auto host = graph_launch_plane();
  model::Trace const trace = read_profile(write_space({gpu.message(), host.message()}));

  uint32_t const graph = row_named(trace, "CudaGraphExec:5");
  EXPECT_EQ(trace.kind(graph), model::EventKind::kKernel);
  EXPECT_EQ(trace.detail<model::KernelDetail>(graph).graph, 5U);
  EXPECT_TRUE(trace.columns().link[graph].valid());
  EXPECT_THAT(trace.log().notes,
              ElementsAre(HasSubstr("2 launches of CUDA graphs were recorded whole")));
}

TEST(XPlaneOfCupti, OpsOfAStreamOnWhoseLineTheProfilersOwnTimeIsStayWork) {
  for (bool const is_only_stream : {false, true}) {
    PlaneWriter gpu("/device:GPU:0");
    gpu.line(13, "CUPTI overhead", 0);
    gpu.event("gemm", 0, 4 * kUs, {{"kernel_details", Reference{"grid:8,1,1 block:256,1,1"}}});
    gpu.event("BUFFER_FLUSH", 2 * kUs, kUs);
    gpu.event("MemcpyD2H", 4 * kUs, kUs,
              {{"memcpy_details", Reference{"kind_src:device kind_dst:pinned size:64 dest:0"}}});
    gpu.event("Memset", 5 * kUs, kUs, {{"Memset_details", Reference{"kind:device num_bytes:64"}}});
    gpu.event("CudaGraphExec:2", 6 * kUs, kUs, {{"cuda_graph_exec_id", uint64_t{2}}});
    gpu.line(0xDEAD'BEF5, "CUPTI overhead", 0).event("INSTRUMENTATION", 0, kUs);
    gpu.line(0xDEAD'BEF4, "XLA Ops", 0).event("fusion.1", 0, 4 * kUs);

    Events expected = {"stream 13: kernel gemm 0+4000",
                       "stream 13: memcpy MemcpyD2H 4000+1000",
                       "stream 13: memset Memset 5000+1000",
                       "stream 13: kernel CudaGraphExec:2 6000+1000",
                       "CUPTI overhead (GPU 0): overhead BUFFER_FLUSH 2000+1000",
                       "CUPTI overhead (GPU 0) #2: overhead INSTRUMENTATION 0+1000"};

    if (!is_only_stream) {
      gpu.line(14, "Stream #14(Kernel)", 0).event("relu", 0, kUs);
      expected.insert("stream 14: kernel relu 0+1000");
    }

    model::Trace const trace = read_profile(write_space({gpu.message()}));
    EXPECT_EQ(events_of(trace), expected) << is_only_stream;

    auto const is_stream = [](model::Track const& track) {
      return track.kind == model::TrackKind::kStream;
    };
    EXPECT_EQ(std::count_if(trace.tracks().begin(), trace.tracks().end(), is_stream),
              is_only_stream ? 1 : 2);
  }
}

TEST(XPlaneOfCupti, KernelsOfXlasOwnThatCommunicateAreToldByTheirOperation) {
  PlaneWriter gpu("/device:GPU:0");
  gpu.line(13, "Stream #13(Kernel,MemcpyD2D)", 0);
  char const* const kernel =
      "void stream_executor::gpu::AllReduceKernelImpl<float, 8>(AllReduceKernelParams)";
  Stats const shape = {{"kernel_details", Reference{"grid:16,1,1 block:512,1,1"}}};

  auto const launched_by = [&](support::StatValue const& operation) {
    Stats stats = shape;
    stats.emplace_back("hlo_op", operation);
    return stats;
  };

  gpu.event(kernel, 0, kUs, launched_by(Reference{"all-reduce-start.1"}));
  gpu.event(kernel, 2 * kUs, kUs, launched_by(std::string("all-reduce-start.1")));
  gpu.event("loop_fusion", 4 * kUs, kUs, launched_by(Reference{"all-reduce_fusion.1"}));
  gpu.event("MemcpyD2D", 6 * kUs, kUs,
            {{"memcpy_details", Reference{"kind_src:device kind_dst:device size:64 dest:0"}},
             {"hlo_op", Reference{"all-gather.2"}}});

  model::Trace const trace = read_profile(write_space({gpu.message()}));
  EXPECT_EQ(events_of(trace), (Events{fmt::format("stream 13: collective {} 0+1000", kernel),
                                      fmt::format("stream 13: collective {} 2000+1000", kernel),
                                      "stream 13: kernel loop_fusion 4000+1000",
                                      "stream 13: memcpy MemcpyD2D 6000+1000"}));

  for (model::CollectiveDetail const& detail : trace.details<model::CollectiveDetail>()) {
    EXPECT_EQ(detail.op, model::CollectiveOp::kAllReduce);
    EXPECT_EQ(detail.channels, 16U);
  }
}

}  // namespace
}  // namespace stepscope::import::made
