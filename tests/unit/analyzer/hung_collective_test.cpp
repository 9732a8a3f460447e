// The rule hung-collective, on made recordings of calls: who is missing, what differs, which one is named.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analysis.h"
#include "reports/wording.h"
#include "trace/model/trace_builder.h"

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
};
constexpr CollectiveState kPending = CollectiveState::kEnqueued;

/// One call every 100 ns, one trace a rank; ranks begin `rank` ns later.
model::Run calls_of_ranks(std::vector<std::vector<MadeCall>> const& ranks, uint32_t participants) {
  model::Run run;
  for (size_t r = 0; r < ranks.size(); ++r) {
    model::TraceBuilder builder;
    builder.info().rank = static_cast<int32_t>(r);
    model::TrackId const track = builder.add_track({model::TrackKind::kThread, "calls of group 0 (default_pg)", 0, -1, {}, 0});
    int64_t at = 0;
    for (MadeCall const& call : ranks[r]) {
      model::CollectiveDetail detail;
      detail.communicator = call.communicator;
      detail.sequence = call.sequence;
      detail.op = call.op;
      detail.participants = participants;
      detail.rank = static_cast<int32_t>(r);
      detail.state = call.state;
      builder.events(track).add(model::EventKind::kCollectiveCall, at += 100, 10, builder.intern(model::to_string(call.op)), 0,
                                detail);
    }
    run.ranks.push_back({std::move(builder).finish(), static_cast<int64_t>(r), ""});
  }
  return run;
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

TEST(HungCollective, TheRankThatDidNotCallItIsNamed) {
  auto const told =
      hung_in(calls_of_ranks({{{1}, {2, kPending}, {3, kPending}}, {{1}}, {{1}, {2, CollectiveState::kStarted}}}, 3));
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
  EXPECT_EQ(told[0].finding.evidence[1].when.begin, 202);
  EXPECT_THAT(told[0].words,
              HasSubstr("number 2 (“calls of group 0 (default_pg)”); waiting: ranks 0, 2. Rank 1 had not called it."));
}

TEST(HungCollective, ARankWithoutAnyCallOfTheGroupIsMissingInTheFirst) {
  auto const told =
      hung_in(calls_of_ranks({{{1, kPending}}, {{5, CollectiveState::kCompleted, CollectiveOp::kAllReduce, 8}}}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("missing"), "1");
}

TEST(HungCollective, RanksThatWereNotRecordedAreSaid) {
  auto const told = hung_in(calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending}}}, 4));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("unrecorded"), "2, 3");
  EXPECT_FALSE(told[0].subjects.contains("missing"));
  EXPECT_THAT(told[0].words, HasSubstr("Of ranks 2, 3 of the group nothing was recorded."));
}

TEST(HungCollective, DifferentOperationsUnderOneNumberAreTold) {
  auto const told = hung_in(calls_of_ranks({{{1}, {2, kPending}}, {{1}, {2, kPending, CollectiveOp::kAllGather}}}, 2));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].subjects.at("different"), "all_reduce on 0; all_gather on 1");
  EXPECT_EQ(told[0].finding.severity, Severity::kCritical);
}

TEST(HungCollective, OneThatSomeCompletedComesBeforeOneThatAllWaitIn) {
  // The first by time is in another group, and nobody is missing there.
  auto const told = hung_in(calls_of_ranks({{{1, kPending, CollectiveOp::kBroadcast, 9}, {4, CollectiveState::kCompleted}},
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
  EXPECT_THAT(told[0].words, HasSubstr("All ranks that are recorded have called it."));
}

TEST(HungCollective, ARankWhoseRecordingBeginsLaterIsNotMissing) {
  auto const told = hung_in(calls_of_ranks({{{3, kPending}, {4}}, {{3, kPending}, {4}}, {{4}, {5}}}, 3));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_FALSE(told[0].subjects.contains("missing"));
}

TEST(HungCollective, MessagesAreNotJudged) {
  EXPECT_THAT(hung_in(calls_of_ranks({{{1, kPending, CollectiveOp::kSend}}, {{2, kPending, CollectiveOp::kReceive}}}, 2)),
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
