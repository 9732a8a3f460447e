// The rule hung-collective, on made recordings of calls: who is missing, what differs, which one is
// named.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "reports/words/wording.h"
#include "trace/model/build/trace_builder.h"
#include "trace/model/group_details.h"

namespace stepscope::analyzer::hung_collective_tests {
namespace {

using model::CollectiveOp;
using model::CollectiveState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct MadeCall {
  uint64_t sequence;
  CollectiveState state = CollectiveState::kCompleted;
  CollectiveOp op = CollectiveOp::kAllReduce;
  uint64_t communicator = 7;
  uint64_t bytes = 0;  ///< of floats; 0 = not known
};
constexpr CollectiveState kPending = CollectiveState::kEnqueued;

/// Longer than any pause of a host, and than what a call takes below.
constexpr int64_t kLong = 1'000'000'000;
constexpr int64_t kMs = 1'000'000;

/// One call a millisecond, done after half of one; one trace a rank, which ends `waited_ns` after
/// its first call that is pending, or with its last call if that is later. Ranks begin `rank` ns
/// later.
model::Run calls_of_ranks(std::vector<std::vector<MadeCall>> const& ranks, uint32_t participants,
                          int64_t waited_ns = kLong) {
  model::Run run;
  for (size_t r = 0; r < ranks.size(); ++r) {
    model::TraceBuilder builder;
    builder.info().rank = static_cast<int32_t>(r);
    model::TrackId const track = builder.add_track(
        {model::TrackKind::kThread, "calls of group 0 (default_pg)", 0, -1, {}, 0});
    auto const is_pending = [](MadeCall const& call) {
      return call.state != CollectiveState::kCompleted;
    };
    auto const first_pending =
        std::find_if(ranks[r].begin(), ranks[r].end(), is_pending) - ranks[r].begin();
    int64_t const end = std::max((first_pending + 1) * kMs + waited_ns,
                                 static_cast<int64_t>(ranks[r].size()) * kMs);
    int64_t at = 0;
    for (MadeCall const& call : ranks[r]) {
      model::CollectiveDetail detail;
      detail.communicator = call.communicator;
      detail.sequence = call.sequence;
      detail.op = call.op;
      detail.participants = participants;
      detail.rank = static_cast<int32_t>(r);
      detail.state = call.state;
      detail.bytes = call.bytes;
      if (call.bytes > 0) detail.data_type = model::DataType::kFloat32;
      at += kMs;
      builder.events(track).add(model::EventKind::kCollectiveCall, at,
                                is_pending(call) ? end - at : kMs / 2,
                                builder.intern(model::to_string(call.op)), 0, detail);
    }
    run.ranks.push_back({std::move(builder).finish(), static_cast<int64_t>(r), ""});
  }
  return run;
}

/// The calls 1 to `last`, of which `completed` are completed.
std::vector<MadeCall> calls_until(uint64_t last, uint64_t completed) {
  std::vector<MadeCall> calls;
  for (uint64_t n = 1; n <= last; ++n)
    calls.push_back({n, n <= completed ? CollectiveState::kCompleted : kPending});
  return calls;
}

struct Told {
  Finding finding;
  std::map<std::string, double> metrics;
  std::map<std::string, std::string> subjects;
  std::string words;
};
std::vector<Told> hung_in(model::Run const& run) {
  Analysis const analysis = analyze(run);
  std::vector<Told> all;
  for (Finding const& finding : analysis.findings) {
    if (finding.rule != "hung-collective") continue;
    all.push_back({finding,
                   {finding.metrics.begin(), finding.metrics.end()},
                   {finding.subjects.begin(), finding.subjects.end()},
                   reports::words_of(run, analysis, finding).explanation});
  }
  return all;
}

TEST(HungCollective, CompletedCallsAreNoFinding) {
  EXPECT_THAT(hung_in(calls_of_ranks({{{1}, {2}}, {{1}, {2}}}, 2)), IsEmpty());
  // Recordings that do not tell how far calls came say nothing, either.
  EXPECT_THAT(hung_in(calls_of_ranks({{{1, CollectiveState::kUnknown}}, {}}, 2)), IsEmpty());
}

/// The calls 1 to `last`, of which nobody tells whether they ended.
std::vector<MadeCall> called_until(uint64_t last) {
  std::vector<MadeCall> calls;
  for (uint64_t n = 1; n <= last; ++n) calls.push_back({n, CollectiveState::kCalled});
  return calls;
}

TEST(HungCollective, WhereNobodyTellsOfEndsTheRankThatMadeFewerCallsIsNamed) {
  EXPECT_THAT(hung_in(calls_of_ranks({called_until(9), called_until(9), called_until(9)}, 3)),
              IsEmpty());
  auto const told =
      hung_in(calls_of_ranks({called_until(9), called_until(7), called_until(8)}, 3, 0));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kWarning) << "its recording ends with the others'";
  EXPECT_EQ(told[0].metrics.at("sequence"), 8);
  EXPECT_EQ(told[0].subjects.at("missing"), "1");
  EXPECT_EQ(told[0].subjects.at("waiting"), "0, 2");
  // A rank without any call in it, where all that are recorded take part.
  auto const none = hung_in(calls_of_ranks(
      {called_until(2), {{1, CollectiveState::kCalled, CollectiveOp::kAllReduce, 8}}}, 2, 0));
  // Likewise rank 0 has no call of the other group.
  ASSERT_EQ(none.size(), 2U);
  EXPECT_EQ(none[1].subjects.at("missing"), "0");
  EXPECT_EQ(none[0].metrics.at("sequence"), 1);
  EXPECT_EQ(none[0].subjects.at("missing"), "1");
}

TEST(HungCollective, WhereNobodyTellsOfEndsARankThatGoesOnWithoutTheCallIsCritical) {
  // Its recording goes on for a second after the others' call.
  std::vector<MadeCall> elsewhere = called_until(3);
  elsewhere.push_back({4, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8});
  auto const told = hung_in(calls_of_ranks({called_until(4), elsewhere}, 2));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, WhereNobodyTellsOfEndsOthersThatWentOnDoNotWait) {
  // One call a millisecond: 93 ms behind the first that rank 1 has not.
  EXPECT_THAT(hung_in(calls_of_ranks({called_until(100), called_until(7)}, 2, 0)), IsEmpty());
}

TEST(HungCollective, TheRankThatDidNotCallItIsNamed) {
  auto const told = hung_in(calls_of_ranks(
      {{{1}, {2, kPending}, {3, kPending}}, {{1}}, {{1}, {2, CollectiveState::kStarted}}}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(told[0].metrics.at("sequence"), 2);
  EXPECT_EQ(told[0].metrics.at("waiting_ranks"), 2);
  EXPECT_EQ(told[0].metrics.at("ranks_that_did_not_call"), 1);
  EXPECT_EQ(told[0].metrics.at("hung_collectives"), 2);
  EXPECT_EQ(told[0].subjects.at("op"), "all_reduce");
  EXPECT_EQ(told[0].subjects.at("missing"), "1");
  EXPECT_EQ(told[0].subjects.at("waiting"), "0, 2");
  ASSERT_EQ(told[0].finding.evidence.size(), 2U);
  EXPECT_EQ(told[0].finding.evidence[1].ref.rank_index, 2);
  EXPECT_EQ(told[0].finding.evidence[1].when.begin, 2 * kMs + 2);
  EXPECT_THAT(told[0].words, HasSubstr("number 2 (“calls of group 0 (default_pg)”); waiting: ranks "
                                       "0, 2. Rank 1 did not call it."));
}

TEST(HungCollective, ARankWithoutAnyCallOfTheGroupIsMissingInTheFirst) {
  auto const told = hung_in(calls_of_ranks(
      {{{1, kPending}}, {{5, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8}}}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("missing"), "1");
}

TEST(HungCollective, RanksThatWereNotRecordedAreSaid) {
  auto const told = hung_in(calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending}}}, 4));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("unrecorded"), "2, 3");
  EXPECT_FALSE(told[0].subjects.contains("missing"));
  EXPECT_THAT(told[0].words, HasSubstr("The run has no recording of ranks 2, 3 of the group."));
}

TEST(HungCollective, DifferentOperationsUnderOneNumberAreTold) {
  auto const told = hung_in(
      calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending, CollectiveOp::kAllGather}}}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("different"), "all_reduce on 0; all_gather on 1");
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, TheRankWhoseOperationIsNotThatOfMostIsNamed) {
  MadeCall const odd{2, kPending, CollectiveOp::kBroadcast}, steady{2, kPending};
  auto const told = hung_in(calls_of_ranks({{{1}, odd}, {{1}, steady}, {{1}, steady}}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("op"), "all_reduce") << "what most ranks call";
  EXPECT_EQ(told[0].subjects.at("odd"), "0");
  EXPECT_THAT(told[0].words, HasSubstr("The call of rank 0 differs from that of most ranks."));
}

TEST(HungCollective, SizesThatDifferInACallThatHangsAreTold) {
  auto const call = [](uint64_t bytes) {
    return std::vector<MadeCall>{{1}, {2, kPending, CollectiveOp::kAllReduce, 7, bytes}};
  };
  auto const told = hung_in(calls_of_ranks({call(256), call(512), call(256)}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(told[0].subjects.at("different"),
            "all_reduce of 256 B float32 on 0, 2; all_reduce of 512 B float32 on 1");
  EXPECT_EQ(told[0].subjects.at("odd"), "1");
  EXPECT_FALSE(
      hung_in(calls_of_ranks({call(256), call(0), call(256)}, 3))[0].subjects.contains("odd"))
      << "one is not known";
  auto const under_way = hung_in(calls_of_ranks({call(256), call(512), call(256)}, 3, 0));
  ASSERT_EQ(under_way.size(), 1U);
  EXPECT_EQ(under_way[0].finding.severity, Severity::kWarning);
}

TEST(HungCollective, ARankWhoseStreamNeverReachedTheCallIsNamed) {
  std::vector<MadeCall> const started = {{1}, {2, CollectiveState::kStarted}};
  auto const told =
      hung_in(calls_of_ranks({started, started, {{1}, {2, CollectiveState::kEnqueued}}}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(told[0].subjects.at("not_started"), "2");
  EXPECT_EQ(told[0].subjects.at("waiting"), "0, 1");
  EXPECT_THAT(told[0].words,
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
  // The first by time is in another group, and nobody is missing there.
  auto const told = hung_in(calls_of_ranks(
      {{{1, kPending, CollectiveOp::kBroadcast, 9}, {4, CollectiveState::kCompleted}},
       {{1, kPending, CollectiveOp::kBroadcast, 9}, {4, kPending}}},
      2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].metrics.at("sequence"), 4);
  EXPECT_EQ(told[0].subjects.at("completed"), "0");
  EXPECT_EQ(told[0].subjects.at("waiting"), "1");
}

TEST(HungCollective, OneThatAllWaitInIsAWarning) {
  auto const told = hung_in(calls_of_ranks({{{3, kPending}}, {{3, kPending}}}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kWarning);
  EXPECT_THAT(told[0].words, HasSubstr("All recorded ranks called it."));
}

TEST(HungCollective, ARankWhoseRecordingBeginsLaterIsNotMissing) {
  auto const told = hung_in(calls_of_ranks(
      {{{3, kPending}}, {{3, kPending}, {4, kPending}}, {{4, kPending}, {5, kPending}}}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].subjects.contains("missing"));
}

TEST(HungCollective, TheOneThatAllWaitInIsNotTheLaterOneThatOneHostHasNotMadeYet) {
  // One host had enqueued 30 calls, the other 28; all are stuck in 20.
  auto const told = hung_in(calls_of_ranks({calls_until(30, 19), calls_until(28, 19)}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kWarning);
  EXPECT_EQ(told[0].metrics.at("sequence"), 20);
  EXPECT_EQ(told[0].metrics.at("hung_collectives"), 11);
  EXPECT_FALSE(told[0].subjects.contains("missing"));
  EXPECT_THAT(told[0].words, HasSubstr("All recorded ranks called it."));
}

TEST(HungCollective, ARunThatWasRecordedWhileItWorkedIsNoFinding) {
  // Rank 0 had just called 20 when its recording ended; that of rank 1 goes on a little longer.
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(20, 19), calls_until(25, 24)}, 2, 0)), IsEmpty());
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(19, 19), calls_until(25, 24)}, 2, 0)), IsEmpty());
  EXPECT_THAT(hung_in(calls_of_ranks({calls_until(20, 19), calls_until(20, 19)}, 2, 0)), IsEmpty());
  // One that waited for long did not end: others that completed it do not change that.
  auto const told = hung_in(calls_of_ranks({calls_until(20, 19), calls_until(25, 24)}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
  EXPECT_EQ(told[0].subjects.at("waiting"), "0");
  EXPECT_EQ(told[0].subjects.at("completed"), "1");
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
  // Nobody's recording tells for how long rank 0 waits: it may hang, and rank 1 is the one to look
  // at.
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

/// The ranks 0 to `ranks` − 1, each in the groups that `calls` names: of each its members, and the
/// calls of its ranks.
struct MadeGroup {
  uint64_t communicator;
  std::vector<int32_t> members;
  std::map<int32_t, std::vector<uint64_t>> pending;  ///< numbers, by rank of the job
  std::map<int32_t, model::GroupCounts> counts;
};
/// Dumps of active calls alone.
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

TEST(HungCollective, ARankWithoutAnActiveCallIsNamedByItsRankInTheJob) {
  auto const told =
      hung_in(active_calls(8, {{1, {4, 5, 6, 7}, {{4, {9}}, {5, {9}}, {7, {9}}}, {}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("missing"), "6");
  EXPECT_EQ(told[0].subjects.at("waiting"), "4, 5, 7");
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, ARankThatCountedTheCallAsDoneIsNotMissing) {
  auto const told = hung_in(active_calls(
      3,
      {{1,
        {0, 1, 2},
        {{0, {9}}},
        {{0, {.called = 9, .completed = 8}}, {1, {.called = 9, .completed = 9}}, {2, {9, 9}}}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].subjects.contains("missing"));
  EXPECT_EQ(told[0].subjects.at("completed"), "1, 2");
  EXPECT_THAT(told[0].words,
              HasSubstr("It is still running on rank 0; the other ranks have completed it."));
}

TEST(HungCollective, ACallThatIsGoneWhereLaterOnesAreActiveIsDone) {
  auto const told =
      hung_in(active_calls(3, {{1, {0, 1, 2}, {{0, {5, 6}}, {1, {6}}, {2, {5, 6, 7}}}, {}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("waiting"), "0, 2");
  EXPECT_EQ(told[0].subjects.at("completed"), "1");
}

TEST(HungCollective, EachCauseIsToldAndNoVictim) {
  // 1 waits for 2 and therefore did not call what 0 waits in; 4 is missing elsewhere; in 7 all
  // wait.
  auto const told = hung_in(active_calls(7, {{1, {0, 1}, {{0, {5}}}, {}},
                                             {2, {1, 2}, {{1, {8}}}, {}},
                                             {3, {3, 4}, {{3, {2}}}, {}},
                                             {7, {5, 6}, {{5, {1}}, {6, {1}}}, {}}}));
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT((std::vector{told[0].subjects.at("missing"), told[1].subjects.at("missing")}),
              ::testing::UnorderedElementsAre("2", "4"));
  EXPECT_EQ(told[0].metrics.at("hung_groups"), 4);
  EXPECT_THAT(told[0].subjects.at("other_groups"), HasSubstr("group 7"));
}

TEST(HungCollective, AVictimIsNotNamedWithTheCulprit) {
  // All of 4 to 7 are missing in group 1, but 4, 5 and 7 wait for 6 in group 2.
  auto const told = hung_in(
      active_calls(8, {{1, {0, 1, 2, 3, 4, 5, 6, 7}, {{0, {5}}, {1, {5}}, {2, {5}}, {3, {5}}}, {}},
                       {2, {4, 5, 6, 7}, {{4, {8}}, {5, {8}}, {7, {8}}}, {}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("missing"), "6");
  EXPECT_EQ(told[0].subjects.at("waiting"), "4, 5, 7");
  EXPECT_THAT(told[0].subjects.at("other_groups"), HasSubstr("group 1"));
}

TEST(HungCollective, CulpritsOfOneCollectiveMayHaveDifferentCauses) {
  // 1 and 2 are missing in group 1: 1 is the cause itself, 2 waits for 3 in group 2.
  auto const told =
      hung_in(active_calls(4, {{1, {0, 1, 2}, {{0, {5}}}, {}}, {2, {2, 3}, {{2, {8}}}, {}}}));
  ASSERT_EQ(told.size(), 2U);
  std::map<std::string, std::string> missing_of;
  for (Told const& each : told)
    missing_of[each.subjects.at("waiting")] = each.subjects.at("missing");
  EXPECT_EQ(missing_of, (std::map<std::string, std::string>{{"0", "1"}, {"2", "3"}}));
  Told const& first = told[0].subjects.at("waiting") == "0" ? told[0] : told[1];
  EXPECT_EQ(first.subjects.at("held"), "2 in all_reduce 8 of group 2");
  EXPECT_THAT(
      first.words,
      HasSubstr(
          "Ranks that wait elsewhere did not reach it, either: “2 in all_reduce 8 of group 2”."));
}

TEST(HungCollective, AChainOfVictimsEndsAtTheRankThatWaitsForNone) {
  auto const told = hung_in(active_calls(
      4, {{1, {0, 1}, {{0, {5}}}, {}}, {2, {1, 2}, {{1, {5}}}, {}}, {3, {2, 3}, {{2, {5}}}, {}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("missing"), "3");
}

TEST(HungCollective, RanksThatWaitForEachOtherAreBothTold) {
  auto const told =
      hung_in(active_calls(2, {{1, {0, 1}, {{0, {5}}}, {}}, {2, {0, 1}, {{1, {8}}}, {}}}));
  ASSERT_EQ(told.size(), 2U);
  for (Told const& each : told)
    EXPECT_THAT(
        each.words,
        HasSubstr(
            "Ranks wait for each other because they call these in different orders: “all_reduce 5 "
            "of group 1 (0 waiting for 1), all_reduce 8 of group 2 (1 waiting for 0)”."));
}

TEST(HungCollective, CallsOfTwoGroupsInDifferentOrderAreTold) {
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
  auto const told = hung_in(run);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("circle"), "all_reduce 5 of group 1, all_reduce 5 of group 2");
}

TEST(HungCollective, AMemberOfWhichThereIsNoDumpIsNamedByItsRankInTheJob) {
  auto const told = hung_in(active_calls(6, {{1, {4, 5, 9}, {{4, {3}}, {5, {3}}}, {}}}));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("unrecorded"), "9");
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
  auto const told = hung_in(calls_of_ranks(ranks, 40));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].subjects.at("waiting"), HasSubstr("14, 15 and 23 more"));
  EXPECT_EQ(told[0].finding.evidence.size(), kMaxEvidence);
}

}  // namespace
}  // namespace stepscope::analyzer::hung_collective_tests
