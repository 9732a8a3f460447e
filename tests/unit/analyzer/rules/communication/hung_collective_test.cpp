// The rule hung-collective on synthetic recordings of calls: which rank is missing, what differs,
// and which collective is named.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analyzer/rules/communication/hung_collective_calls.h"

namespace stepscope::analyzer::hung_collective_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HungCollective, CompletedCallsAreNoFinding) {
  EXPECT_THAT(hung_in(calls_of_ranks({{{1}, {2}}, {{1}, {2}}}, 2)), IsEmpty());
  // Recordings without the state of calls give no finding, either.
  EXPECT_THAT(hung_in(calls_of_ranks({{{1, CollectiveState::kUnknown}}, {}}, 2)), IsEmpty());
}

/// The calls 1 to `last`; the recording does not show whether they ended.
std::vector<MadeCall> called_until(uint64_t last) {
  std::vector<MadeCall> calls;
  for (uint64_t n = 1; n <= last; ++n) calls.push_back({n, CollectiveState::kCalled});
  return calls;
}

TEST(HungCollective, WithoutRecordedEndsTheRankThatMadeFewerCallsIsNamed) {
  EXPECT_THAT(hung_in(calls_of_ranks({called_until(9), called_until(9), called_until(9)}, 3)),
              IsEmpty());

  auto const reported =
      hung_in(calls_of_ranks({called_until(9), called_until(7), called_until(8)}, 3, 0));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kWarning)
      << "its recording ends with the others'";
  EXPECT_EQ(reported[0].metrics.at("sequence"), 8);
  EXPECT_EQ(reported[0].subjects.at("missing"), "1");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "0, 2");

  // A rank without any call of the group is missing if all calling ranks are recorded.
  auto const none = hung_in(calls_of_ranks(
      {called_until(2), {{1, CollectiveState::kCalled, CollectiveOp::kAllReduce, 8}}}, 2, 0));
  // Likewise rank 0 has no call of the other group.
  ASSERT_EQ(none.size(), 2U);
  EXPECT_EQ(none[1].subjects.at("missing"), "0");
  EXPECT_EQ(none[0].metrics.at("sequence"), 1);
  EXPECT_EQ(none[0].subjects.at("missing"), "1");
}

TEST(HungCollective, WithoutRecordedEndsARankThatGoesOnWithoutTheCallIsCritical) {
  // Its recording goes on for a second after the others' call.
  std::vector<MadeCall> elsewhere = called_until(3);
  elsewhere.push_back({4, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8});
  auto const reported = hung_in(calls_of_ranks({called_until(4), elsewhere}, 2));
  ASSERT_FALSE(reported.empty());
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, WithoutRecordedEndsOthersThatWentOnDoNotWait) {
  // One call a millisecond: rank 0 goes on for 93 ms after the first call that rank 1 lacks.
  EXPECT_THAT(hung_in(calls_of_ranks({called_until(100), called_until(7)}, 2, 0)), IsEmpty());
}

TEST(HungCollective, TheRankThatDidNotCallItIsNamed) {
  auto const reported = hung_in(calls_of_ranks(
      {{{1}, {2, kPending}, {3, kPending}}, {{1}}, {{1}, {2, CollectiveState::kStarted}}}, 3));

  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(reported[0].metrics.at("sequence"), 2);
  EXPECT_EQ(reported[0].metrics.at("waiting_ranks"), 2);
  EXPECT_EQ(reported[0].metrics.at("ranks_that_did_not_call"), 1);
  EXPECT_EQ(reported[0].metrics.at("hung_collectives"), 2);
  EXPECT_EQ(reported[0].subjects.at("op"), "all_reduce");
  EXPECT_EQ(reported[0].subjects.at("missing"), "1");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "0, 2");

  ASSERT_EQ(reported[0].finding.evidence.size(), 2U);
  EXPECT_EQ(reported[0].finding.evidence[1].ref.rank_index, 2);
  EXPECT_EQ(reported[0].finding.evidence[1].when.begin, 2 * kMs + 2);
  EXPECT_THAT(reported[0].words,
              HasSubstr("number 2 (“calls of group 0 (default_pg)”); waiting: ranks "
                        "0, 2. Rank 1 did not call it."));
}

TEST(HungCollective, ARankWithoutAnyCallOfTheGroupIsMissingInTheFirst) {
  auto const reported = hung_in(calls_of_ranks(
      {{{1, kPending}}, {{5, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8}}}, 2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("missing"), "1");
}

TEST(HungCollective, RanksThatWereNotRecordedAreReported) {
  auto const reported = hung_in(calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending}}}, 4));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("unrecorded"), "2, 3");
  EXPECT_FALSE(reported[0].subjects.contains("missing"));
  EXPECT_THAT(reported[0].words, HasSubstr("The run has no recording of ranks 2, 3 of the group."));
}

TEST(HungCollective, DifferentOperationsUnderOneNumberAreReported) {
  auto const reported = hung_in(
      calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending, CollectiveOp::kAllGather}}}, 2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("different"), "all_reduce on 0; all_gather on 1");
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, TheRankWhoseOperationIsNotThatOfMostIsNamed) {
  MadeCall const odd{2, kPending, CollectiveOp::kBroadcast}, steady{2, kPending};
  auto const reported = hung_in(calls_of_ranks({{{1}, odd}, {{1}, steady}, {{1}, steady}}, 3));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].subjects.at("op"), "all_reduce") << "what most ranks call";
  EXPECT_EQ(reported[0].subjects.at("odd"), "0");
  EXPECT_THAT(reported[0].words, HasSubstr("The call of rank 0 differs from that of most ranks."));
}

TEST(HungCollective, SizesThatDifferInACallThatHangsAreReported) {
  auto const call = [](uint64_t bytes) {
    return std::vector<MadeCall>{{1}, {2, kPending, CollectiveOp::kAllReduce, 7, bytes}};
  };

  auto const reported = hung_in(calls_of_ranks({call(256), call(512), call(256)}, 3));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(reported[0].subjects.at("different"),
            "all_reduce of 256 B float32 on 0, 2; all_reduce of 512 B float32 on 1");
  EXPECT_EQ(reported[0].subjects.at("odd"), "1");

  EXPECT_FALSE(
      hung_in(calls_of_ranks({call(256), call(0), call(256)}, 3))[0].subjects.contains("odd"))
      << "one is not known";

  auto const under_way = hung_in(calls_of_ranks({call(256), call(512), call(256)}, 3, 0));
  ASSERT_EQ(under_way.size(), 1U);
  EXPECT_EQ(under_way[0].finding.severity, Severity::kWarning);
}

TEST(HungCollective, ARankWhoseStreamNeverReachedTheCallIsNamed) {
  std::vector<MadeCall> const started = {{1}, {2, CollectiveState::kStarted}};

  auto const reported =
      hung_in(calls_of_ranks({started, started, {{1}, {2, CollectiveState::kEnqueued}}}, 3));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(reported[0].subjects.at("not_started"), "2");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "0, 1");
  EXPECT_THAT(reported[0].words,
              HasSubstr("Rank 2 called it, but the stream of that call never reached it."));

  // In a job that works, ranks start at different times.
  EXPECT_THAT(
      hung_in(calls_of_ranks({started, started, {{1}, {2, CollectiveState::kEnqueued}}}, 3, 0)),
      IsEmpty());

  // Where no rank started it, or starts are not recorded, no rank is known to be the one.
  auto const none = hung_in(calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending}}}, 2));
  ASSERT_EQ(none.size(), 1U);
  EXPECT_FALSE(none[0].subjects.contains("not_started"));
}

TEST(HungCollective, OneThatSomeCompletedComesBeforeOneThatAllWaitIn) {
  // The first by time is in another group, where no rank is missing.
  auto const reported = hung_in(calls_of_ranks(
      {{{1, kPending, CollectiveOp::kBroadcast, 9}, {4, CollectiveState::kCompleted}},
       {{1, kPending, CollectiveOp::kBroadcast, 9}, {4, kPending}}},
      2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].metrics.at("sequence"), 4);
  EXPECT_EQ(reported[0].subjects.at("completed"), "0");
  EXPECT_EQ(reported[0].subjects.at("waiting"), "1");
}

TEST(HungCollective, OneThatAllWaitInIsAWarning) {
  auto const reported = hung_in(calls_of_ranks({{{3, kPending}}, {{3, kPending}}}, 2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kWarning);
  EXPECT_THAT(reported[0].words, HasSubstr("All recorded ranks called it."));
}

TEST(HungCollective, ARankWhoseRecordingBeginsLaterIsNotMissing) {
  auto const reported = hung_in(calls_of_ranks(
      {{{3, kPending}}, {{3, kPending}, {4, kPending}}, {{4, kPending}, {5, kPending}}}, 3));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_FALSE(reported[0].subjects.contains("missing"));
}

TEST(HungCollective, TheOneThatAllWaitInIsNotTheLaterOneThatOneHostHasNotMadeYet) {
  // One host had enqueued 30 calls, the other 28; all are stuck in 20.
  auto const reported = hung_in(calls_of_ranks({calls_until(30, 19), calls_until(28, 19)}, 2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kWarning);
  EXPECT_EQ(reported[0].metrics.at("sequence"), 20);
  EXPECT_EQ(reported[0].metrics.at("hung_collectives"), 11);
  EXPECT_FALSE(reported[0].subjects.contains("missing"));
  EXPECT_THAT(reported[0].words, HasSubstr("All recorded ranks called it."));
}

TEST(HungCollective, ARunThatWasRecordedWhileItWorkedIsNoFinding) {
  // Rank 0 had just called 20 when its recording ended; that of rank 1 goes on a little longer.
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(20, 19), calls_until(25, 24)}, 2, 0)), IsEmpty());
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(19, 19), calls_until(25, 24)}, 2, 0)), IsEmpty());
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(20, 19), calls_until(20, 19)}, 2, 0)), IsEmpty());
  // The call of a rank that waited for long did not end, even if others completed it.
  auto const reported = hung_in(calls_of_ranks({calls_until(20, 19), calls_until(25, 24)}, 2));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_EQ(reported[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(reported[0].subjects.at("waiting"), "0");
  EXPECT_EQ(reported[0].subjects.at("completed"), "1");
}

TEST(HungCollective, ACallHangsWhenItWaitsLongerThanHostsPauseAndManyTimesLongerThanOthers) {
  auto const found = [](int64_t waited_ns, int64_t steady_ns) {
    model::TraceBuilder builder;
    model::TrackId const track =

        builder.add_track({model::TrackKind::kThread, "calls", 0, -1, {}, 0});
    model::CollectiveDetail detail;
    detail.communicator = 7;
    detail.participants = 1;
    detail.rank = 0;

    for (auto const& [sequence, took] :
         {std::pair<uint64_t, int64_t>{1, steady_ns}, {2, waited_ns}}) {
      detail.sequence = sequence;
      detail.state = sequence == 1 ? CollectiveState::kCompleted : kPending;
      int64_t const start = sequence == 1 ? 0 : steady_ns;
      builder.events(track).add(model::EventKind::kCollectiveCall, start, took,
                                builder.intern("all_reduce"), 0, detail);
    }

    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
    return !hung_in(run).empty();
  };

  EXPECT_FALSE(found(20 * kMs, 0));
  EXPECT_TRUE(found(21 * kMs, 0));
  EXPECT_FALSE(found(500 * kMs, 100 * kMs));
  EXPECT_TRUE(found(501 * kMs, 100 * kMs));
}

TEST(HungCollective, AMissingRankIsCriticalOnlyWhenItIsFurtherBehindThanRanksEverWere) {
  // No recording shows for how long rank 0 waits: it may hang, and rank 1 is the one to look at.
  auto const unsure = hung_in(calls_of_ranks({calls_until(20, 19), calls_until(19, 19)}, 2, 0));
  ASSERT_EQ(unsure.size(), 1U);
  EXPECT_EQ(unsure[0].finding.severity, Severity::kWarning);
  EXPECT_EQ(unsure[0].subjects.at("missing"), "1");

  // Rank 1 went on with something else, and still had not called it.
  std::vector<MadeCall> elsewhere = calls_until(19, 19);
  for (uint64_t n = 1; n <= 40; ++n)
    elsewhere.push_back({n, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8});

  auto const sure = hung_in(calls_of_ranks({calls_until(20, 19), elsewhere}, 2, 0));
  ASSERT_EQ(sure.size(), 1U);
  EXPECT_EQ(sure[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(sure[0].subjects.at("missing"), "1");
}

TEST(HungCollective, WhatLiesBeforeACompletedCallOfTheRankIsOver) {
  EXPECT_THAT(hung_in(calls_of_ranks({{{3, kPending}, {4}}, {{3, kPending}, {4}}}, 2)), IsEmpty());
}

TEST(HungCollective, MessagesAreNotJudged) {
  EXPECT_THAT(
      hung_in(calls_of_ranks(
          {{{1, kPending, CollectiveOp::kSend}}, {{2, kPending, CollectiveOp::kReceive}}}, 2)),
      IsEmpty());
}

TEST(HungCollective, TheNamesOfManyRanksAreCut) {
  std::vector<std::vector<MadeCall>> ranks(40, {{1, kPending}});
  ranks[39].clear();
  auto const reported = hung_in(calls_of_ranks(ranks, 40));
  ASSERT_EQ(reported.size(), 1U);
  EXPECT_THAT(reported[0].subjects.at("waiting"), HasSubstr("14, 15 and 23 more"));
  EXPECT_EQ(reported[0].finding.evidence.size(), kMaxEvidence);
}

}  // namespace
}  // namespace stepscope::analyzer::hung_collective_tests
