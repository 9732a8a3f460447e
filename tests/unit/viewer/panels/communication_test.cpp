// Compares the wait matrix and the bandwidth by size with the numbers of the analysis.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/viewer/scenes.h"
#include "viewer/queries/charts/bandwidth_by_size.h"
#include "viewer/queries/charts/wait_matrix.h"

namespace stepscope::viewer {
namespace {

Scene const& ranks() {
  static Scene const kScene = synthetic_scene({.devices = 4,
                                               .steps = 10,
                                               .process_per_device = true,
                                               .straggler_device = 2,
                                               .straggler_factor = 1.4});
  return kScene;
}

TimeWindow everything() { return {0, static_cast<double>(ranks().length) + 1}; }

TEST(WaitMatrix, HasACellForEveryDeviceAndCollective) {
  WaitMatrix const grid = wait_matrix(ranks(), {everything(), 100, 100'000});
  auto const& collectives = ranks().analysis.collectives;
  ASSERT_EQ(grid.rows.size(), 4U);
  ASSERT_EQ(grid.columns, collectives.size());

  for (uint32_t c = 0; c < grid.columns; ++c)
    for (uint32_t r = 0; r < grid.rows.size(); ++r) {
      auto const& cell = grid.at(r, c);
      ASSERT_EQ(cell.collective, c);
      auto const& participant = collectives[c].participants[cell.participant];
      EXPECT_EQ(participant.ref, ranks().analysis.devices[r].ref);
      EXPECT_EQ(cell.wait_ns, participant.wait_ns);
      EXPECT_EQ(cell.last == 1,
                static_cast<int32_t>(cell.participant) == collectives[c].last_participant);
    }
}

TEST(WaitMatrix, ShowsTheStragglerAsTheOneThatComesLast) {
  WaitMatrix const grid = wait_matrix(ranks(), {everything(), 100, 100'000});
  auto const last = std::max_element(grid.rows.begin(), grid.rows.end(),
                                     [](auto const& a, auto const& b) { return a.last < b.last; });
  EXPECT_EQ(last - grid.rows.begin(), 2);
  EXPECT_LT(last->wait_ns, grid.rows[0].wait_ns / 4);
}

TEST(WaitMatrix, FoldedKeepsTheLongestWaitAndAllSums) {
  WaitMatrix const whole = wait_matrix(ranks(), {everything(), 100, 100'000});

  for (auto const& [rows, columns] :
       {std::pair{4U, 7U}, std::pair{2U, 5U}, std::pair{1U, 1U}, std::pair{0U, 0U}}) {
    WaitMatrix const grid = wait_matrix(ranks(), {everything(), rows, columns});
    EXPECT_LE(grid.rows.size(), std::max(rows, 1U));
    EXPECT_LE(grid.columns, std::max(columns, 1U));
    EXPECT_EQ(grid.longest_ns, whole.longest_ns);
    EXPECT_EQ(grid.collectives, whole.collectives);

    int64_t longest = 0;
    uint64_t participations = 0;
    for (auto const& cell : grid.cells) {
      longest = std::max(longest, cell.wait_ns);
      participations += cell.count;
    }
    EXPECT_EQ(longest, whole.longest_ns);
    EXPECT_EQ(participations, whole.cells.size());

    uint64_t last = 0;
    for (auto const& row : grid.rows) last += row.last;
    EXPECT_EQ(last, whole.collectives);

    EXPECT_EQ(grid.rows.front().first_device, 0U);
    EXPECT_EQ(grid.rows.back().last_device, 4U);
  }
}

TEST(WaitMatrix, HoldsTheCollectivesThatBeginInTheRange) {
  double const middle = static_cast<double>(ranks().length) / 2;
  uint64_t const before = wait_matrix(ranks(), {{0, middle}, 10, 1000}).collectives;
  uint64_t const after = wait_matrix(ranks(), {{middle, everything().end}, 10, 1000}).collectives;
  EXPECT_GT(before, 0U);
  EXPECT_GT(after, 0U);
  EXPECT_EQ(before + after, ranks().analysis.collectives.size());
  WaitMatrix const none = wait_matrix(ranks(), {{1e15, 2e15}, 10, 1000});
  EXPECT_TRUE(none.rows.empty());
  EXPECT_TRUE(none.cells.empty());
}

TEST(WaitMatrix, OfARunWithoutCollectivesIsEmpty) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 3});
  EXPECT_EQ(wait_matrix(scene, {{0, 1e12}, 10, 10}).collectives, 0U);
}

TEST(LinkPoints, CountEveryMeasuredCollectiveOnce) {
  auto const points = bandwidth_by_size(ranks().analysis);
  ASSERT_FALSE(points.empty());

  uint64_t counted = 0;
  for (BandwidthPoint const& point : points) {
    counted += point.count;
    EXPECT_LE(point.low, point.median);
    EXPECT_LE(point.median, point.high);
    EXPECT_EQ(ranks().analysis.collectives[point.slowest].bytes, point.bytes);
    EXPECT_DOUBLE_EQ(*ranks().analysis.collectives[point.slowest].busbw_gbps, point.low);
    // All-reduce of four: 2 · 3/4.
    EXPECT_NEAR(point.bus_factor, 1.5, 1e-9);
  }

  uint64_t expected = 0;
  for (auto const& facts : ranks().analysis.collectives) expected += facts.busbw_gbps ? 1U : 0U;
  EXPECT_EQ(counted, expected);
}

TEST(FittedBandwidth, GrowsWithTheMessageToTheLinksOwn) {
  analyzer::LinkFit const fit{.alpha_us = 20, .beta_gbps = 10};
  // A message of alpha · beta bytes takes as long to start as to transfer.
  EXPECT_NEAR(fitted_bandwidth(fit, 1.5, 200'000), 7.5, 1e-9);
  EXPECT_NEAR(fitted_bandwidth(fit, 1.5, 1e12), 15, 0.01);
  EXPECT_EQ(fitted_bandwidth({}, 1, 0), 0);
}

TEST(CollectiveOf, IsFoundForEveryParticipantAndForNothingElse) {
  for (auto const& facts : ranks().analysis.collectives)
    for (auto const& participant : facts.participants)
      EXPECT_EQ(ranks().collective_of({Selection::What::kEvent,
                                       static_cast<uint32_t>(participant.ref.rank_index),
                                       participant.row}),
                &facts);

  auto const& trace = ranks().trace(0);
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) == model::EventKind::kCollective) continue;
    EXPECT_EQ(ranks().collective_of({Selection::What::kEvent, 0, row}), nullptr);
  }

  EXPECT_EQ(ranks().collective_of({Selection::What::kGap, 0, 0}), nullptr);
}

}  // namespace
}  // namespace stepscope::viewer
