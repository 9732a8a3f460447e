// A ring gives names new numbers from time to time. What the decoder remembers has to follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/record_decoder_fixture.h"

namespace stepscope::tracer {
namespace {

using model::EventKind;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char const* kUpload = "Memcpy HtoD (Pinned -> Device)";

CUpti_ActivityMemcpy5 upload(When when, uint32_t correlation) {
  return copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
              CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 64, when, correlation);
}

TEST_P(RecordDecoderTest, keeps_every_name_where_names_begin_anew) {
  store.keep_nothing(nullptr);
  add(kernel("first", {10, 20}, 1));
  add(kernel("second", {20, 30}, 2));
  add(upload({30, 40}, 3));
  round();
  // These wait: the one for the runtime call around it, the other for its allocation.
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, {41, 42}, 4));
  add(runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, {43, 44}, 5));
  complete();

  store.begin_names_anew(
      [this](RowWatcher::Renamed const& renamed) { decoder_->names_begin_anew(renamed); });
  add(upload({50, 60}, 6));
  add(kernel("second", {60, 70}, 7));
  add(kernel("first", {70, 80}, 8));
  add(driver_call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, {81, 82}, 9));
  finish();

  std::vector<std::string> names;
  for (Row const& row : rows()) names.push_back(row.name);
  EXPECT_THAT(names,
              UnorderedElementsAre("first", "second", kUpload, kUpload, "second", "first",
                                   "cuStreamSynchronize", "cuStreamSynchronize", "cudaMalloc"));
}

TEST_P(RecordDecoderTest, knows_kernels_that_communicate_by_their_names) {
  auto row_of_blocks = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", {10, 20}, 1);
  row_of_blocks.gridY = 1;
  auto of_graph = kernel("ncclDevKernel_AllGather_RING_SIMPLE(int)", {30, 40}, 2);
  of_graph.gridY = 1;
  of_graph.graphId = 5;
  add(row_of_blocks);
  add(of_graph);
  add(kernel("_ZN4vllm27cross_device_reduce_1stageEPfi", {50, 60}, 3));  // a grid of 10 × 2
  add(kernel("void warpAllReduce<float>(float*)", {70, 80}, 4));
  finish();

  std::vector<EventKind> kinds;
  for (Row const& row : rows()) kinds.push_back(row.kind);
  EXPECT_THAT(kinds, ElementsAre(EventKind::kCollective, EventKind::kCollective,
                                 EventKind::kCollective, EventKind::kKernel));

  auto const collectives = details<model::CollectiveDetail>();
  ASSERT_EQ(collectives.size(), 3U);
  EXPECT_EQ(collectives[0].op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(collectives[0].protocol, model::CollectiveProtocol::kLl);
  EXPECT_EQ(collectives[0].channels, 10U);
  EXPECT_EQ(collectives[1].op, model::CollectiveOp::kAllGather);
  EXPECT_EQ(collectives[1].graph, 5U);
  EXPECT_EQ(collectives[2].op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(collectives[2].channels, 0U) << "not one block a channel";
  for (model::CollectiveDetail const& collective : collectives)
    EXPECT_TRUE(is_known_by_name(collective));
}

}  // namespace
}  // namespace stepscope::tracer
