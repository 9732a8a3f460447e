#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/host_program.h"
#include "tests/unit/viewer/scenes.h"
#include "viewer/queries/overview_strips.h"

namespace stepscope::viewer {
namespace {

TEST(OverviewStrips, CoverEveryDeviceFromItsFirstToItsLastPiece) {
  Scene const scene = synthetic_scene(
      {.devices = 3, .steps = 8, .process_per_device = true, .input_delay_ns = 5'000'000});

  for (uint32_t const columns : {1U, 7U, 300U, 5000U}) {
    OverviewStrips const strips = overview_strips(scene, columns);
    ASSERT_EQ(strips.devices.size(), 3U);
    for (auto const& pieces : strips.devices) {
      ASSERT_FALSE(pieces.empty());
      for (size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_LT(pieces[i].first, pieces[i].last);
        EXPECT_LE(pieces[i].last, strips.columns + 1);
        if (i > 0) {
          EXPECT_GE(pieces[i].first, pieces[i - 1].first);
        }
      }
    }
  }
}

TEST(OverviewStrips, ShowIdleTimeInItsCausesColour) {
  Scene const scene = synthetic_scene({.devices = 1, .steps = 8, .input_delay_ns = 20'000'000});
  bool input = false, busy = false;
  OverviewStrips const strips = overview_strips(scene, 2000);
  for (auto const& piece : strips.devices[0]) {
    input = input || (piece.idle && piece.paint == Paint::kInput);
    busy = busy || (!piece.idle && piece.paint == Paint::kCompute);
  }
  EXPECT_TRUE(input);
  EXPECT_TRUE(busy);
}

TEST(OverviewStrips, AreNoMoreThanCanBeSeen) {
  EXPECT_EQ(overview_strips(synthetic_scene({.devices = 20, .steps = 3}), 100).devices.size(),
            kMaxStrips);
  EXPECT_TRUE(overview_strips(scene_of([](model::TraceBuilder&) {}), 100).devices.empty());
}

TEST(OverviewStrips, WithoutADeviceShowWhatTheBusyThreadsDo) {
  Scene const scene = analyzed(support::loop_with_waits());
  OverviewStrips const strips = overview_strips(scene, 1100);
  ASSERT_EQ(strips.devices.size(), 1U);

  auto const columns_of = [&](Paint paint) {
    float columns = 0;
    for (auto const& piece : strips.devices[0])
      columns += piece.paint == paint ? piece.last - piece.first : 0;
    return columns;
  };

  EXPECT_NEAR(columns_of(Paint::kStep), 1000, 30);
  EXPECT_NEAR(columns_of(Paint::kInput), 300, 30);
  EXPECT_NEAR(columns_of(Paint::kPhase), 500, 30);
}

TEST(OverviewStrips, WithoutADeviceShowNoMoreThreadsThanCanBeSeen) {
  support::HostProgram program;
  for (int i = 0; i < 40; ++i) program.range_on(program.thread("worker"), 0, 1000 + i, "work");
  EXPECT_EQ(overview_strips(analyzed(std::move(program).run()), 100).devices.size(), kMaxStrips);
}

TEST(Segments, FindTheLongestOfAny) {
  std::mt19937 random(3);
  std::vector<Segment> all;
  int64_t at = 0;
  for (int i = 0; i < 700; ++i) {
    int64_t const length = static_cast<int64_t>(random() % 1000);
    all.push_back({at, at + length, Paint::kCompute, {}});
    at += length;
  }

  Segments const segments(all);
  auto const length = [&](uint32_t i) { return all[i].end - all[i].begin; };
  for (int round = 0; round < 3000; ++round) {
    auto const first = static_cast<uint32_t>(random() % 700);
    auto const last = first + 1 + static_cast<uint32_t>(random() % (700 - first));

    int64_t longest = 0, inside = 0;
    for (uint32_t i = first; i < last; ++i) longest = std::max(longest, length(i));
    for (uint32_t i = first + Segments::kBlock; i + Segments::kBlock < last; ++i)
      inside = std::max(inside, length(i));

    uint32_t const found = segments.longest(first, last);
    ASSERT_GE(found, first);
    ASSERT_LT(found, last);
    // In a long range the search may leave out the outermost segments.
    EXPECT_GE(length(found), last - first < 8 * Segments::kBlock ? longest : inside);
  }
}

}  // namespace
}  // namespace stepscope::viewer
