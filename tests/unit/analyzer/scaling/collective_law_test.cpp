// What collectives take over other numbers of ranks: the formulas of rings and trees, by hand.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "analyzer/scaling/collective_law.h"

namespace stepscope::analyzer {
namespace {

using model::CollectiveOp;

/// An all-reduce of `bytes` with a hop of 3 and 0.01 a byte, by the formulas of NCCL's algorithms.
constexpr double kHop = 3, kByte = 0.01;
CollectiveTime ring_of(double ranks, double bytes) {
  return {2 * (ranks - 1) * kHop, 2 * (ranks - 1) / ranks * bytes * kByte};
}
CollectiveTime tree_of(double ranks, double bytes) {
  return {2 * std::log2(ranks) * kHop, 2 * bytes * kByte};
}

TEST(CollectiveLaw, ARingStaysARing) {
  for (uint32_t const to : {2U, 3U, 8U, 64U}) {
    CollectiveTime const there =
        time_over_ranks(CollectiveLaw::kRing, CollectiveOp::kAllReduce, ring_of(4, 5000), 4, to);
    EXPECT_NEAR(there.latency_ns, ring_of(to, 5000).latency_ns, 1e-9);
    EXPECT_NEAR(there.bytes_ns, ring_of(to, 5000).bytes_ns, 1e-9);
  }
}

TEST(CollectiveLaw, ATreeStaysATree) {
  for (uint32_t const to : {2U, 3U, 8U, 64U}) {
    CollectiveTime const there =
        time_over_ranks(CollectiveLaw::kTree, CollectiveOp::kAllReduce, tree_of(4, 5000), 4, to);
    EXPECT_NEAR(there.latency_ns, tree_of(to, 5000).latency_ns, 1e-9);
    EXPECT_NEAR(there.bytes_ns, tree_of(to, 5000).bytes_ns, 1e-9);
  }
}

TEST(CollectiveLaw, NcclTakesTheFasterAlgorithm) {
  // Large messages are rings where they were recorded; many ranks make trees of the small ones.
  for (double const bytes : {5'000.0, 50'000.0})
    for (uint32_t const to : {2U, 4U, 16U, 256U}) {
      CollectiveTime const here = ring_of(4, bytes);
      ASSERT_LT(here.total_ns(), tree_of(4, bytes).total_ns());

      double const there =
          time_over_ranks(CollectiveLaw::kNccl, CollectiveOp::kAllReduce, here, 4, to).total_ns();
      double const faster = std::min(ring_of(to, bytes).total_ns(), tree_of(to, bytes).total_ns());
      EXPECT_NEAR(there, faster, 1e-9) << bytes << " bytes on " << to;
    }
}

TEST(CollectiveLaw, AFlatLatencyStays) {
  CollectiveTime const there =
      time_over_ranks(CollectiveLaw::kFlat, CollectiveOp::kAllReduce, {20, 150}, 4, 16);
  EXPECT_DOUBLE_EQ(there.latency_ns, 20);
  EXPECT_DOUBLE_EQ(there.bytes_ns, 150 * (15.0 / 16) / (3.0 / 4));
}

TEST(CollectiveLaw, WhatHasNoTreeIsARing) {
  CollectiveTime const ring =
      time_over_ranks(CollectiveLaw::kRing, CollectiveOp::kAllGather, {20, 150}, 4, 16);
  for (CollectiveLaw const law : {CollectiveLaw::kTree, CollectiveLaw::kNccl})
    EXPECT_DOUBLE_EQ(time_over_ranks(law, CollectiveOp::kAllGather, {20, 150}, 4, 16).total_ns(),
                     ring.total_ns());
}

TEST(CollectiveLaw, AsManyRanksTakeAsLongAndOneTakesNoTime) {
  for (CollectiveLaw const law :
       {CollectiveLaw::kNccl, CollectiveLaw::kRing, CollectiveLaw::kTree, CollectiveLaw::kFlat})
    for (auto const op : {CollectiveOp::kAllReduce, CollectiveOp::kBroadcast,
                          CollectiveOp::kReduceScatter, CollectiveOp::kUnknown}) {
      // The first is faster as a tree, the second as a ring.
      for (CollectiveTime const time : {CollectiveTime{500, 1}, CollectiveTime{1, 500}})
        EXPECT_NEAR(time_over_ranks(law, op, time, 8, 8).total_ns(), 501, 1e-9) << to_string(law);
      EXPECT_EQ(time_over_ranks(law, op, {500, 1}, 8, 1).total_ns(), 0);
    }
}

}  // namespace
}  // namespace stepscope::analyzer
