// What a thread does, as a row of stretches: nested calls, cuts, damaged traces, and how stretches
// are found by their ends.
#include "analyzer/whatif/replay/host_stretches.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sanitized.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"
#include "tests/unit/analyzer/metrics/critical_path/random_path_run.h"
#include "tests/unit/analyzer/whatif/recorded_replay.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::TrackId;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::does_only;
using testing_support::PathRank;
using testing_support::RandomPathRun;

HostStretches stretches_of(model::RankTrace const& rank, std::vector<HostCut> const& cuts = {},
                           TrackId thread = TrackId{0}) {
  HostClasses classes(rank.trace);
  return host_stretches(rank, thread, cuts, classes);
}

/// "launch gemm 20-30": class, call and times of each stretch, and its marks.
std::vector<std::string> stretch_story(PathRank&& made, std::vector<HostCut> const& cuts = {}) {
  model::RankTrace const rank = std::move(made).finish();
  HostStretches const stretches = stretches_of(rank, cuts);
  std::vector<std::string> story;

  for (size_t i = 0; i < stretches.all.size(); ++i) {
    HostStretch const& at = stretches.all[i];
    std::string const call =
        at.row == kNoLeafRow ? "" : fmt::format("{} ", rank.trace.name(at.row));
    story.push_back(fmt::format("{} {}{}-{}{}{}", to_string(at.path_class), call,
                                stretches.begin_of(i), at.end, at.starts_step ? " step" : "",
                                at.waits ? " waits" : ""));
  }
  return story;
}

TEST(HostStretches, ACallWithinAWaitInterruptsIt) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.host(thread, EventKind::kInputWait, 0, 100, "batch");
  rank.range(thread, 10, 60, "collate");
  rank.launch(thread, 20, 30, "copy");

  EXPECT_THAT(stretch_story(std::move(rank)),
              ElementsAre("input batch 0-20", "launch copy 20-30", "input batch 30-100"));
}

TEST(HostStretches, WhatLiesBetweenCallsIsTheHostsOwnWork) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.range(thread, 5, 45, "forward");
  rank.launch(thread, 10, 20, "a");
  rank.range(thread, 25, 28, "norm");
  rank.launch(thread, 30, 40, "b");
  rank.launch(thread, 60, 70, "c");

  EXPECT_THAT(stretch_story(std::move(rank)),
              ElementsAre("host 5-10", "launch a 10-20", "host 20-30", "launch b 30-40",
                          "host 40-60", "launch c 60-70"));
}

TEST(HostStretches, CallsOneBehindTheOtherAreTwo) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 0, 10, "a");
  rank.launch(thread, 10, 20, "b");

  EXPECT_THAT(stretch_story(std::move(rank)), ElementsAre("launch a 0-10", "launch b 10-20"));
}

TEST(HostStretches, ACallThatTakesNoTimeOnlyEndsTheStretchBeforeIt) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.allocate(thread, 0, 40, "malloc");
  rank.launch(thread, 20, 20, "a");

  EXPECT_THAT(stretch_story(std::move(rank)),
              ElementsAre("allocation malloc 0-20", "allocation malloc 20-40"));
}

TEST(HostStretches, CallsOfDamagedTracesOverlap) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 0, 50, "a");
  rank.allocate(thread, 40, 80, "malloc");
  rank.launch(thread, 60, 70, "b");

  // What ended beneath another call goes with it.
  EXPECT_THAT(stretch_story(std::move(rank)),
              ElementsAre("launch a 0-40", "allocation malloc 40-60", "launch b 60-70",
                          "allocation malloc 70-80"));
}

TEST(HostStretches, ThreadWithoutActivityHasNone) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.host(thread, EventKind::kMark, 10, 10, "epoch");

  EXPECT_THAT(stretch_story(std::move(rank), {{10, true, false}, {20, false, true}}), IsEmpty());
}

TEST(HostStretches, CutsBeginSteps) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.range(thread, 10, 80, "train");
  rank.launch(thread, 60, 70, "a");

  EXPECT_THAT(
      stretch_story(std::move(rank), {{10, true, false}, {40, true, false}, {65, true, false}}),
      ElementsAre("host 10-40 step", "host 40-60 step", "launch a 60-65", "launch a 65-70 step"));
}

TEST(HostStretches, CutsBesideTheThreadsActivityDoNothing) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 10, 20, "a");

  EXPECT_THAT(
      stretch_story(std::move(rank), {{5, false, false}, {8, false, true}, {30, false, true}}),
      ElementsAre("launch a 10-20"));
}

TEST(HostStretches, AWaitBeginsWhereTheThreadLastDidSomething) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 0, 10, "a");
  rank.range(thread, 10, 20, "python");
  rank.launch(thread, 50, 60, "b");

  EXPECT_THAT(stretch_story(std::move(rank), {{45, false, true}}),
              ElementsAre("launch a 0-10", "host 10-20", "host 20-45 waits", "host 45-50",
                          "launch b 50-60"));
}

TEST(HostStretches, AWaitWithinARangeBeginsWithTheRange) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.range(thread, 0, 100, "step");
  rank.range(thread, 20, 80, "backward");
  rank.launch(thread, 90, 95, "a");

  EXPECT_THAT(stretch_story(std::move(rank), {{70, false, true}}),
              ElementsAre("host 0-20", "host 20-70 waits", "host 70-90", "launch a 90-95"));
}

TEST(HostStretches, AWaitEndsWhereTheNextCallBegins) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 0, 10, "a");
  rank.launch(thread, 50, 60, "b");

  EXPECT_THAT(stretch_story(std::move(rank), {{50, false, true}}),
              ElementsAre("launch a 0-10", "host 10-50 waits", "launch b 50-60"));
}

TEST(HostStretches, ACutWhereAWaitEndsLeavesTheWorkBeforeTheWait) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.launch(thread, 0, 10, "a");
  rank.range(thread, 10, 20, "python");
  rank.launch(thread, 50, 60, "b");

  EXPECT_THAT(stretch_story(std::move(rank), {{50, false, false}, {50, false, true}}),
              ElementsAre("launch a 0-10", "host 10-20", "host 20-50 waits", "launch b 50-60"));
}

TEST(HostStretches, ACallDoesNotWaitForAnotherThread) {
  PathRank rank;
  TrackId const thread = rank.thread(1);
  rank.host(thread, EventKind::kInputWait, 0, 40, "batch");
  rank.launch(thread, 50, 60, "a");

  EXPECT_THAT(stretch_story(std::move(rank), {{30, false, true}}),
              ElementsAre("input batch 0-30", "input batch 30-40", "host 40-50", "launch a 50-60"));
}

/// Random cuts by time, as the caller gives them.
std::vector<HostCut> random_cuts(std::mt19937& random) {
  std::uniform_int_distribution<int64_t> instant(-60, 450);
  std::uniform_int_distribution<int> kind(0, 2), count(0, 6);
  std::vector<HostCut> cuts(static_cast<size_t>(count(random)));
  for (HostCut& cut : cuts) {
    int const of_kind = kind(random);
    cut = {instant(random), of_kind == 1, of_kind == 2};
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

void expect_classes(model::RankTrace const& rank, TrackId thread, HostStretches const& stretches) {
  HostClasses classes(rank.trace), own_classes(rank.trace);
  InnermostHostEvents events(rank, thread, classes);

  for (size_t i = 0; i < stretches.all.size(); ++i) {
    HostStretch const& at = stretches.all[i];
    ASSERT_LT(stretches.begin_of(i), at.end);
    ASSERT_TRUE(does_only(events, {stretches.begin_of(i), at.end}, at.path_class)) << at.end;

    ASSERT_EQ(at.row == kNoLeafRow, at.path_class == PathClass::kHost);
    if (at.row == kNoLeafRow) continue;
    ASSERT_FALSE(at.waits);
    ASSERT_EQ(own_classes.of(at.row), at.path_class);
    ASSERT_LE(rank.trace.start(at.row) + rank.offset_ns, stretches.begin_of(i));
  }
}

TEST(HostStretches, HaveTheClassesOfTheCriticalPath) {
  std::mt19937 random(1);
  for (uint32_t seed = 0; seed < (support::kSanitized ? 60U : 500U); ++seed) {
    model::Run const run = RandomPathRun(seed).make();

    for (model::RankTrace const& rank : run.ranks)
      for (uint32_t t = 0; t < rank.trace.tracks().size(); ++t) {
        if (rank.trace.tracks()[t].kind != model::TrackKind::kThread) continue;
        HostStretches const stretches = stretches_of(rank, random_cuts(random), TrackId{t});
        expect_classes(rank, TrackId{t}, stretches);
        ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
      }
  }
}

/// The number of stretches that end at the instant or before, counted one by one.
size_t plain_count(HostStretches const& stretches, int64_t instant) {
  return static_cast<size_t>(
      std::count_if(stretches.all.begin(), stretches.all.end(),
                    [&](HostStretch const& stretch) { return stretch.end <= instant; }));
}

HostStretches random_stretches(std::mt19937& random, size_t count) {
  std::uniform_int_distribution<int64_t> length(1, 5);
  HostStretches stretches;
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) stretches.all.push_back({at += length(random)});
  return stretches;
}

TEST(StretchFinder, CountsWhatHasEndedAtAnyInstant) {
  std::mt19937 random(2);
  for (size_t const count : {size_t{0}, size_t{1}, size_t{60}, size_t{500}}) {
    HostStretches const stretches = random_stretches(random, count);
    StretchFinder finder(stretches);
    std::uniform_int_distribution<int64_t> instant(-5, 3 * static_cast<int64_t>(count) + 10);

    for (int i = 0; i < 500; ++i) {
      int64_t const at = instant(random);
      ASSERT_EQ(finder.count_ended(at), plain_count(stretches, at)) << count << ", " << at;
    }
  }
}

TEST(StretchFinder, CountsForwardsAndBackwards) {
  std::mt19937 random(3);
  HostStretches const stretches = random_stretches(random, 300);
  StretchFinder finder(stretches);

  for (int64_t at = -2; at < 1600; ++at)
    ASSERT_EQ(finder.count_ended(at), plain_count(stretches, at)) << at;
  for (int64_t at = 1600; at > -2; --at)
    ASSERT_EQ(finder.count_ended(at), plain_count(stretches, at)) << at;

  // From one end to the other, further than it looks one by one.
  EXPECT_EQ(finder.count_ended(1'000'000), 300U);
  EXPECT_EQ(finder.count_ended(-1), 0U);
  EXPECT_EQ(finder.count_ended(1'000'000), 300U);
}

}  // namespace
}  // namespace stepscope::analyzer
