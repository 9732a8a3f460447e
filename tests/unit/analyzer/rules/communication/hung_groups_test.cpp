// The rule hung-collective on dumps of active calls in several groups: the rank that is the cause
// is named, and no victim of it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/rules/communication/hung_collective_calls.h"
#include "trace/model/group_details.h"

namespace stepscope::analyzer::hung_collective_tests {
namespace {

using ::testing::HasSubstr;

/// A group of the job: its members, and the pending calls and counts of its ranks.
struct MadeGroup {
  uint64_t communicator;
  std::vector<int32_t> members;
  std::map<int32_t, std::vector<uint64_t>> pending;  ///< numbers, by rank of the job
  std::map<int32_t, model::GroupCounts> counts;
};

/// Dumps with active calls only, of the ranks 0 to `ranks` − 1.
model::Run active_calls(int32_t ranks, std::vector<MadeGroup> const& groups) {
  model::Run run;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    for (MadeGroup const& group : groups) {
      auto const own = std::find(group.members.begin(), group.members.end(), rank);
      if (own == group.members.end()) continue;
      std::string const name = "group " + std::to_string(group.communicator);

      builder.info().facts.emplace_back(model::group_ranks_fact(name),
                                        model::group_ranks_text(group.members));
      if (auto const counts = group.counts.find(rank); counts != group.counts.end())
        builder.info().facts.emplace_back(model::group_counts_fact(name),
                                          model::group_counts_text(counts->second));

      auto const calls = group.pending.find(rank);
      if (calls == group.pending.end()) continue;
      model::TrackId const track = builder.add_track(
          {model::TrackKind::kThread, model::group_calls_name(name), 0, -1, {}, 0});
      for (uint64_t const sequence : calls->second) {
        model::CollectiveDetail detail;
        detail.communicator = group.communicator;
        detail.sequence = sequence;
        detail.op = CollectiveOp::kAllReduce;
        detail.participants = static_cast<uint32_t>(group.members.size());

        detail.rank = static_cast<int32_t>(own - group.members.begin());
        detail.state = kPending;
        builder.events(track).add(model::EventKind::kCollectiveCall,
                                  static_cast<int64_t>(sequence) * kMs, kLong,
                                  builder.intern("all_reduce"), 0, detail);
      }
    }
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }
  return run;
}

TEST(HungGroups, ARankWithoutAnActiveCallIsNamedByItsRankInTheJob) {
  auto const reported =
      hung_in(active_calls(8, {{1, {4, 5, 6, 7}, {{4, {9}}, {5, {9}}, {7, {9}}}, {}}}));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("missing"), "6");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "4, 5, 7");
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
}

TEST(HungGroups, ARankThatCountedTheCallAsDoneIsNotMissing) {
  auto const reported = hung_in(active_calls(
      3,
      {{1,
        {0, 1, 2},
        {{0, {9}}},
        {{0, {.called = 9, .completed = 8}}, {1, {.called = 9, .completed = 9}}, {2, {9, 9}}}}}));

  ASSERT_EQ(reported.size(), 1U);
  EXPECT_FALSE(reported[0].subjects.contains("missing"));
  EXPECT_EQ(reported[0].subjects.at("completed"), "1, 2");
  EXPECT_THAT(reported[0].words,
              HasSubstr("It is still running on rank 0; the other ranks have completed it."));
}

TEST(HungGroups, ACallThatIsGoneWhereLaterOnesAreActiveIsDone) {
  auto const reported =
      hung_in(active_calls(3, {{1, {0, 1, 2}, {{0, {5, 6}}, {1, {6}}, {2, {5, 6, 7}}}, {}}}));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("waiting"), "0, 2");
  EXPECT_EQ(reported[0].subjects.at("completed"), "1");
}

TEST(HungGroups, EachCauseIsReportedAndNoVictim) {
  // Rank 1 waits for 2 and therefore did not make the call in which 0 waits. Rank 4 is missing
  // elsewhere. All of group 7 wait.
  auto const reported = hung_in(active_calls(7, {{1, {0, 1}, {{0, {5}}}, {}},
                                                 {2, {1, 2}, {{1, {8}}}, {}},
                                                 {3, {3, 4}, {{3, {2}}}, {}},
                                                 {7, {5, 6}, {{5, {1}}, {6, {1}}}, {}}}));
  ASSERT_EQ(reported.size(), 2U);
  EXPECT_THAT((std::vector{reported[0].subjects.at("missing"), reported[1].subjects.at("missing")}),
              ::testing::UnorderedElementsAre("2", "4"));
  EXPECT_EQ(reported[0].metrics.at("hung_groups"), 4);
  EXPECT_THAT(reported[0].subjects.at("other_groups"), HasSubstr("group 7"));
}

TEST(HungGroups, AVictimIsNotNamedWithTheCulprit) {
  // All of 4 to 7 are missing in group 1, but 4, 5 and 7 wait for 6 in group 2.
  auto const reported = hung_in(
      active_calls(8, {{1, {0, 1, 2, 3, 4, 5, 6, 7}, {{0, {5}}, {1, {5}}, {2, {5}}, {3, {5}}}, {}},
                       {2, {4, 5, 6, 7}, {{4, {8}}, {5, {8}}, {7, {8}}}, {}}}));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("missing"), "6");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "4, 5, 7");
  EXPECT_THAT(reported[0].subjects.at("other_groups"), HasSubstr("group 1"));
}

TEST(HungGroups, CulpritsOfOneCollectiveMayHaveDifferentCauses) {
  // 1 and 2 are missing in group 1: 1 is the cause itself, 2 waits for 3 in group 2.
  auto const reported =
      hung_in(active_calls(4, {{1, {0, 1, 2}, {{0, {5}}}, {}}, {2, {2, 3}, {{2, {8}}}, {}}}));

  ASSERT_EQ(reported.size(), 2U);
  std::map<std::string, std::string> missing_of;
  for (HungReport const& each : reported)
    missing_of[each.subjects.at("waiting")] = each.subjects.at("missing");
  EXPECT_EQ(missing_of, (std::map<std::string, std::string>{{"0", "1"}, {"2", "3"}}));

  HungReport const& first = reported[0].subjects.at("waiting") == "0" ? reported[0] : reported[1];
  EXPECT_EQ(first.subjects.at("held"), "2 in all_reduce 8 of group 2");
  EXPECT_THAT(
      first.words,
      HasSubstr(
          "Ranks that wait elsewhere did not reach it, either: “2 in all_reduce 8 of group 2”."));
}

TEST(HungGroups, AChainOfVictimsEndsAtTheRankThatWaitsForNone) {
  auto const reported = hung_in(active_calls(
      4, {{1, {0, 1}, {{0, {5}}}, {}}, {2, {1, 2}, {{1, {5}}}, {}}, {3, {2, 3}, {{2, {5}}}, {}}}));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("missing"), "3");
}

TEST(HungGroups, RanksThatWaitForEachOtherAreBothReported) {
  auto const reported =
      hung_in(active_calls(2, {{1, {0, 1}, {{0, {5}}}, {}}, {2, {0, 1}, {{1, {8}}}, {}}}));
  ASSERT_EQ(reported.size(), 2U);
  for (HungReport const& each : reported)
    EXPECT_THAT(
        each.words,
        HasSubstr(
            "Ranks wait for each other because they call these in different orders: “all_reduce 5 "
            "of group 1 (0 waiting for 1), all_reduce 8 of group 2 (1 waiting for 0)”."));
}

TEST(HungGroups, CallsOfTwoGroupsInDifferentOrderAreReported) {
  // Both ranks have called both: rank 0 first that of group 1, rank 1 first that of group 2.
  model::Run run;
  for (int32_t rank = 0; rank < 2; ++rank) {
    model::TraceBuilder builder;
    builder.info().rank = rank;
    for (uint64_t group : {1, 2}) {
      std::string const name = "group " + std::to_string(group);
      model::TrackId const track = builder.add_track(
          {model::TrackKind::kThread, model::group_calls_name(name), 0, -1, {}, 0});

      model::CollectiveDetail detail;
      detail.communicator = group;
      detail.sequence = 5;
      detail.op = CollectiveOp::kAllReduce;
      detail.participants = 2;
      detail.rank = rank;
      detail.state = kPending;

      int64_t const at = (rank == 0) == (group == 1) ? kMs : 2 * kMs;
      builder.events(track).add(model::EventKind::kCollectiveCall, at, kLong,
                                builder.intern("all_reduce"), 0, detail);
    }
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }

  auto const reported = hung_in(run);
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("circle"), "all_reduce 5 of group 1, all_reduce 5 of group 2");
}

TEST(HungGroups, AMemberWithoutADumpIsNamedByItsRankInTheJob) {
  auto const reported = hung_in(active_calls(6, {{1, {4, 5, 9}, {{4, {3}}, {5, {3}}}, {}}}));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("unrecorded"), "9");
}

}  // namespace
}  // namespace stepscope::analyzer::hung_collective_tests
