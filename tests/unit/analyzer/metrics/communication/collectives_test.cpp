// Matching of collectives and their numbers, compared with values by hand and with a twin that
// compares every pair.
#include "analyzer/metrics/communication/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analyzer/analyze.h"
#include "analyzer/metrics/communication/alpha_beta_fit.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

struct Call {
  int32_t device;
  Interval when;
  CollectiveDetail detail;
};

/// Devices of one process each, with clocks that are `offset × device` behind.
Run make_run(std::vector<Call> const& calls, int32_t devices, int64_t offset = 0) {
  model::Run run;
  for (int32_t d = 0; d < devices; ++d) {
    TraceBuilder builder;
    TrackId const stream =
        builder.add_track({TrackKind::kStream, "comm", 2, d, StreamKind::kCommunication, 0});

    for (Call const& call : calls)
      if (call.device == d)
        builder.events(stream).add(EventKind::kCollective, call.when.begin - d * offset,
                                   call.when.length(), builder.intern("c"), 0, call.detail);

    run.ranks.push_back({std::move(builder).finish(), d * offset, ""});
  }
  return run;
}

CollectiveDetail all_reduce(uint64_t bytes, uint64_t sequence, int32_t rank,
                            uint32_t participants) {
  return {bytes, 5, sequence, CollectiveOp::kAllReduce, participants, rank, -1};
}

TEST(Collectives, TransferIsTheShortestAndTheLastToComeWaitsNothing) {
  model::Run const run = make_run({{0, {100, 400}, all_reduce(4000, 1, 0, 3)},
                                   {1, {250, 400}, all_reduce(4000, 1, 1, 3)},
                                   {2, {300, 400}, all_reduce(4000, 1, 2, 3)}},
                                  3, 1'000'000);

  auto const found = match_collectives(index_devices(run));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].transfer_ns, 100);
  EXPECT_EQ(found[0].skew_ns, 200);
  EXPECT_EQ(found[0].last_participant, 2);
  EXPECT_EQ(found[0].participants[0].wait_ns, 200);
  EXPECT_EQ(found[0].participants[1].wait_ns, 50);
  EXPECT_EQ(found[0].participants[2].wait_ns, 0);
  ASSERT_TRUE(found[0].busbw_gbps);
  EXPECT_DOUBLE_EQ(*found[0].busbw_gbps, 4000.0 / 100 * 4 / 3);  // 2 (n − 1) / n, GB = 1e9
}

TEST(Collectives, NoBandwidthWhenAParticipantOrTheBytesAreMissing) {
  model::Run const partial =
      make_run({{0, {0, 10}, all_reduce(100, 1, 0, 3)}, {1, {0, 10}, all_reduce(100, 1, 1, 3)}}, 2);
  EXPECT_FALSE(match_collectives(index_devices(partial))[0].busbw_gbps);
  model::Run const no_bytes =
      make_run({{0, {0, 10}, all_reduce(0, 1, 0, 2)}, {1, {0, 10}, all_reduce(0, 1, 1, 2)}}, 2);
  EXPECT_FALSE(match_collectives(index_devices(no_bytes))[0].busbw_gbps);
}

TEST(Collectives, ARankThatTwoToolsRecordedTakesPartOnce) {
  // A second trace of rank 0 has only the duration of the collective.
  model::Run run = make_run({{0, {900, 905}, all_reduce(4000, 1, 0, 2)},
                             {1, {100, 400}, all_reduce(4000, 1, 0, 2)},
                             {2, {300, 400}, all_reduce(4000, 1, 1, 2)}},
                            3);

  auto const found = match_collectives(index_devices(run));
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].participants.size(), 2U);
  EXPECT_EQ(found[0].participants[0].ref.rank_index, 1);
  EXPECT_EQ(found[0].transfer_ns, 100);
  EXPECT_TRUE(found[0].busbw_gbps);
}

TEST(Collectives, WithoutNumbersOrderOpAndBytesDecide) {
  std::vector<Call> calls;
  for (int32_t d = 0; d < 2; ++d) {
    calls.push_back({d, {0, 10}, all_reduce(100, 0, d, 2)});
    calls.push_back({d, {20, 30}, all_reduce(999, 0, d, 2)});
    calls.push_back({d, {40, 50}, all_reduce(100, 0, d, 2)});
  }

  auto const found = match_collectives(index_devices(make_run(calls, 2)));
  ASSERT_EQ(found.size(), 3U);
  for (auto const& collective : found) EXPECT_EQ(collective.participants.size(), 2U);
  EXPECT_EQ(found[1].bytes, 999U);
}

TEST(Collectives, AMissingFirstOneDoesNotShiftNumberedOnes) {
  // The recording of device 1 begins with the second call; matching by order would pair all calls
  // wrongly.
  model::Run const run = make_run({{0, {0, 10}, all_reduce(1, 0, 0, 2)},
                                   {0, {20, 30}, all_reduce(1, 1, 0, 2)},
                                   {1, {25, 30}, all_reduce(1, 1, 1, 2)}},
                                  2);
  auto const found = match_collectives(index_devices(run));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].participants.size(), 1U);
  EXPECT_EQ(found[1].participants.size(), 2U);
  EXPECT_EQ(found[1].sequence, 1U);
}

TEST(Collectives, CommunicatorsDoNotMix) {
  CollectiveDetail other = all_reduce(100, 1, 1, 2);
  other.communicator = 6;
  model::Run const run = make_run({{0, {0, 10}, all_reduce(100, 1, 0, 2)}, {1, {0, 10}, other}}, 2);
  EXPECT_EQ(match_collectives(index_devices(run)).size(), 2U);
}

TEST(Collectives, BusFactorsAreThoseOfTheDefinitions) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveOp::kAllReduce, 4), 1.5);
  for (CollectiveOp const op :
       {CollectiveOp::kReduceScatter, CollectiveOp::kAllGather, CollectiveOp::kAllToAll})
    EXPECT_DOUBLE_EQ(bus_factor(op, 4), 0.75);
  for (CollectiveOp const op : {CollectiveOp::kBroadcast, CollectiveOp::kReduce,
                                CollectiveOp::kSend, CollectiveOp::kReceive})
    EXPECT_DOUBLE_EQ(bus_factor(op, 4), 1);
}

TEST(Collectives, AgreeWithATwinThatComparesEveryPair) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<Call> calls;
    for (int32_t d = 0; d < 4; ++d) {
      int64_t at = 0;
      for (uint64_t sequence = 1; sequence < 12; ++sequence) {
        at += 1 + static_cast<int64_t>(random() % 50);
        int64_t const end = at + static_cast<int64_t>(random() % 40);
        if (random() % 5 != 0) calls.push_back({d, {at, end}, all_reduce(64, sequence, d, 4)});
        at = end;
      }
    }

    auto const found = match_collectives(index_devices(make_run(calls, 4)));
    size_t participants = 0;
    for (CollectiveStats const& collective : found) {
      participants += collective.participants.size();
      int64_t shortest = INT64_MAX, first = INT64_MAX, last = INT64_MIN;
      size_t peers = 0;

      for (Call const& call : calls) {
        if (call.detail.sequence != collective.sequence) continue;
        ++peers;
        shortest = std::min(shortest, call.when.length());
        first = std::min(first, call.when.begin);
        last = std::max(last, call.when.begin);
      }

      ASSERT_EQ(collective.participants.size(), peers);
      ASSERT_EQ(collective.transfer_ns, shortest);
      ASSERT_EQ(collective.skew_ns, last - first);
      ASSERT_EQ(
          collective.participants[static_cast<size_t>(collective.last_participant)].when.begin,
          last);
    }

    ASSERT_EQ(participants, calls.size());
  }
}

TEST(Links, FitFindsLatencyAndBandwidthDespiteOutliers) {
  std::vector<CollectiveStats> collectives;
  for (int i = 0; i < 60; ++i) {
    CollectiveStats stats;
    stats.communicator = 3;
    stats.op = CollectiveOp::kAllReduce;
    stats.bytes = uint64_t{1000} << (i % 6);
    stats.transfer_ns =
        20'000 + static_cast<int64_t>(stats.bytes) / 8 + (i % 11 == 0 ? 5'000'000 : 0);
    stats.busbw_gbps = 1;
    collectives.push_back(stats);
  }

  auto const fits = fit_links(collectives);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_NEAR(fits[0].alpha_us, 20, 0.01);
  EXPECT_NEAR(fits[0].beta_gbps, 8, 0.01);
  EXPECT_NEAR(fits[0].half_bandwidth_bytes, 160'000, 200);
  EXPECT_EQ(fits[0].samples, 60U);
}

TEST(Links, NoFitWhereLargerMessagesAreSlowerOnlyByChance) {
  // Four sizes, 12 collectives of each. All vary by up to 400 µs whatever their size; the largest
  // takes `more` longer.
  auto const fits = [](int64_t more) {
    std::vector<CollectiveStats> collectives;
    for (int i = 0; i < 48; ++i) {
      CollectiveStats stats;
      stats.bytes = uint64_t{1'000'000} * static_cast<uint64_t>(i % 4);
      stats.transfer_ns =
          500'000 + static_cast<int64_t>(i) * 7 % 12 * 36'000 + (i % 4 == 3 ? more : 0);
      stats.busbw_gbps = 1;
      collectives.push_back(stats);
    }
    return fit_links(collectives);
  };

  EXPECT_TRUE(fits(50'000).empty());
  EXPECT_EQ(fits(400'000).size(), 1U);
}

TEST(Links, OneSizeGivesNoFit) {
  CollectiveStats stats;
  stats.bytes = 100;
  stats.transfer_ns = 10;
  stats.busbw_gbps = 1;
  EXPECT_TRUE(fit_links({stats, stats, stats}).empty());
}

/// A device whose op was launched at once but starts only after its peer's launch.
TEST(PeerWait, ACollectiveThatStartsWithItsLastPeerWaitedForIt) {
  model::Run run;
  for (int32_t d = 0; d < 2; ++d) {
    TraceBuilder builder;
    TrackId const thread =
        builder.add_track({TrackKind::kThread, "t", 1, -1, StreamKind::kCompute, 0});
    TrackId const stream =
        builder.add_track({TrackKind::kStream, "comm", 2, d, StreamKind::kCommunication, 0});

    builder.events(stream).add(EventKind::kKernel, 0, 1000, builder.intern("k"), 0, KernelDetail{});
    builder.events(thread).add(EventKind::kLaunch, d == 0 ? 900 : 800'000, 50,
                               builder.intern("launch"), 1);
    builder.events(stream).add(EventKind::kCollective, 801'000, 100, builder.intern("c"), 1,
                               all_reduce(8, 1, d, 2));
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }

  Analysis const analysis = analyze(run);
  ASSERT_EQ(analysis.gaps.size(), 4U);
  EXPECT_EQ(analysis.gaps[0].cause, IdleCause::kPeer);
  EXPECT_EQ(analysis.gaps[0].when, (Interval{1000, 800'050}));
  EXPECT_EQ(analysis.gaps[1].cause, IdleCause::kLaunchLatency);
  EXPECT_EQ(analysis.gaps[2].cause, IdleCause::kLaunchBound);
}

}  // namespace
}  // namespace stepscope::analyzer
