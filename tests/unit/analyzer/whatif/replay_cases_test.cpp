// Replays of runs that random ones seldom are: ranks that contradict each other, calls within
// calls, threads that hand work over and take no time.
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/replay/replay.h"
#include "analyzer/whatif/whatif.h"
#include "tests/unit/analyzer/metrics/critical_path/critical_path_runs.h"
#include "tests/unit/analyzer/whatif/recorded_replay.h"

namespace stepscope::analyzer {
namespace {

using model::TrackId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::path_run;
using testing_support::PathRank;
using testing_support::RecordedReplay;

/// A rank with one stream, and the collectives of two ranks in the given order.
model::RankTrace rank_of_two_collectives(int32_t rank, uint64_t first, uint64_t second) {
  PathRank made(rank);
  TrackId const stream = made.stream(0);
  made.all_reduce(stream, 100, 200, first);
  made.all_reduce(stream, 300, 400, second);
  return std::move(made).finish();
}

TEST(ReplayCases, RanksThatContradictEachOtherHaveNone) {
  model::Run const run =
      path_run(rank_of_two_collectives(0, 1, 2), rank_of_two_collectives(1, 2, 1));
  WhatIfStats const stats =
      what_if(run, analyze(run), {{{*parse_change("class:communication=0")}}, true});

  EXPECT_TRUE(stats.baseline.is_refused);
  EXPECT_THAT(stats.baseline.reason, HasSubstr("the records contradict each other"));
  ASSERT_EQ(stats.answers.size(), 1U);
  EXPECT_TRUE(stats.answers[0].is_refused);
  EXPECT_EQ(stats.answers[0].reason, stats.baseline.reason);
}

TEST(ReplayCases, RanksThatAgreeHaveOne) {
  RecordedReplay const made(
      path_run(rank_of_two_collectives(0, 1, 2), rank_of_two_collectives(1, 1, 2)));
  EXPECT_TRUE(made.graph.is_whole);
}

/// Ends of all device ops in the replay of the recorded weights, in the order of their rows.
std::vector<int64_t> replayed_ends(PathRank&& rank) {
  RecordedReplay const made(path_run(std::move(rank).finish()));
  EXPECT_TRUE(made.graph.is_whole);
  ReplayTimes const times = made.recorded_times();

  std::map<uint32_t, int64_t> ends;
  for (uint32_t number = 1; number < made.graph.nodes.size(); ++number)
    if (ReplayNode const& node = made.graph.nodes[number]; node.kind == ReplayNodeKind::kOp)
      ends[node.row] = times.over[number];

  std::vector<int64_t> result;
  for (auto const& [row, end] : ends) result.push_back(end);
  return result;
}

TEST(ReplayCases, AnOpWaitsForAThreadThatBeginsWithItsLaunch) {
  PathRank rank;
  TrackId const main = rank.thread(1), loader = rank.thread(2), stream = rank.stream(0);
  uint64_t const kernel = rank.launch(main, 0, 5'000);
  uint64_t const copy = rank.launch(loader, 50'000, 80'000, "cudaMemcpy");
  rank.kernel(stream, 6'000, 9'000, "gemm", kernel);
  rank.copy(stream, 52'000, 79'000, "batch", copy);

  // The blocking call has launched the copy at its begin: nothing of its thread was over before.
  EXPECT_THAT(replayed_ends(std::move(rank)), ElementsAre(9'000, 79'000));
}

TEST(ReplayCases, TwoCallsThatEndAtOnceWaitForTheLastOfTheirOps) {
  PathRank rank;
  TrackId const thread = rank.thread(1), a = rank.stream(0), b = rank.stream(1);
  uint64_t const long_one = rank.launch(thread, 0, 5'000);
  uint64_t const short_one = rank.launch(thread, 5'000, 10'000);
  rank.kernel(a, 6'000, 80'000, "long", long_one);
  rank.kernel(b, 11'000, 60'000, "short", short_one);
  rank.sync(thread, 12'000, 90'000, {model::SyncKind::kDevice, 0, -1});
  rank.sync(thread, 20'000, 90'000, {model::SyncKind::kStream, 0, 1});
  uint64_t const next = rank.launch(thread, 90'000, 95'000);
  rank.kernel(b, 96'000, 99'000, "next", next);

  EXPECT_THAT(replayed_ends(std::move(rank)), ElementsAre(80'000, 60'000, 99'000));
}

TEST(ReplayCases, ACallWithinALaunchMayWaitForTheLaunchedOp) {
  PathRank rank;
  TrackId const thread = rank.thread(1), stream = rank.stream(0);
  uint64_t const kernel = rank.launch(thread, 0, 100'000);
  rank.kernel(stream, 20'000, 80'000, "gemm", kernel);
  rank.sync(thread, 50'000, 90'000, {model::SyncKind::kStream, 0, 0});

  EXPECT_THAT(replayed_ends(std::move(rank)), ElementsAre(80'000));
}

TEST(ReplayCases, AThreadThatGivesWorkBackAtOnceClosesNoCircle) {
  PathRank rank;
  TrackId const main = rank.thread(1), helper = rank.thread(2), stream = rank.stream(0);
  rank.step(main, 0, 100'000, 0);
  uint64_t const forward = rank.launch(main, 0, 5'000);
  rank.range(main, 40'000, 90'000, "backward");
  uint64_t const backward = rank.launch(helper, 20'000, 30'000);
  rank.range(helper, 50'000, 50'000, "hook");
  rank.kernel(stream, 6'000, 9'000, "forward", forward);
  rank.kernel(stream, 31'000, 35'000, "backward", backward);

  // The hook takes no time: main waits for its end, and its thread for main until the same instant.
  EXPECT_THAT(replayed_ends(std::move(rank)), ElementsAre(9'000, 35'000));
}

TEST(ReplayCases, AThreadWaitsForOneThatBeginsAtThatInstant) {
  PathRank rank;
  TrackId const main = rank.thread(1), helper = rank.thread(2), stream = rank.stream(0);
  uint64_t const first = rank.launch(helper, 0, 5'000);
  uint64_t const second = rank.launch(helper, 20'000, 25'000);
  rank.step(main, 20'000, 40'000, 0);
  uint64_t const third = rank.launch(main, 26'000, 30'000);
  rank.kernel(stream, 6'000, 8'000, "first", first);
  rank.kernel(stream, 26'000, 28'000, "second", second);
  rank.kernel(stream, 31'000, 33'000, "third", third);

  EXPECT_THAT(replayed_ends(std::move(rank)), ElementsAre(8'000, 28'000, 33'000));
}

}  // namespace
}  // namespace stepscope::analyzer
