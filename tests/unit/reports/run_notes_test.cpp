// The notes on ranks that are missing, that recorded other steps, or whose clocks differ.
#include "reports/words/run_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::reports {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

model::RankTrace rank(int32_t number, int32_t world, std::string const& host) {
  model::TraceBuilder builder;
  builder.info().rank = number;
  builder.info().world_size = world;
  builder.info().host = host;
  return {std::move(builder).finish(), 0, ""};
}
analyzer::StepStats step(int32_t rank_index, int64_t number) {
  analyzer::StepStats facts;
  facts.ref.rank_index = rank_index;
  facts.step = number;
  return facts;
}

TEST(RunNotes, AWholeRunOfOneHostHasNone) {
  model::Run run;
  run.ranks.push_back(rank(0, 2, "a"));
  run.ranks.push_back(rank(1, 2, "a"));
  run.clock.method = "epoch";
  EXPECT_THAT(run_notes(run, {}), IsEmpty());
}

TEST(RunNotes, MissingRanksAreNamedWithWhatHoldsWithoutThem) {
  model::Run run;
  run.ranks.push_back(rank(1, 8, "a"));
  analyzer::Analysis analysis;
  analysis.integrity.missing_ranks = {0, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(run_notes(run, analysis),
              ElementsAre(AllOf(HasSubstr("Ranks 0 and 2–7 of 8 are not in this run"),
                                HasSubstr("reliable"))));
}

TEST(RunNotes, WhereNoTraceSaysHowManyRanksThereAreWhatTellsItIsSaid) {
  model::Run run;
  run.ranks.push_back(rank(3, 1, "a"));
  analyzer::Analysis analysis;
  analysis.integrity.missing_ranks = {0, 1, 2};
  EXPECT_THAT(
      run_notes(run, analysis),
      ElementsAre(HasSubstr("Ranks 0–2 of 4 are not in this run (at least: rank 3 is present)")));

  model::TraceBuilder builder;
  model::TrackId const stream = builder.add_track(
      {model::TrackKind::kStream, "7", 7, 0, model::StreamKind::kCommunication, 0});
  builder.events(stream).add(
      model::EventKind::kCollective, 0, 1, builder.intern("c"), 0,
      model::CollectiveDetail{.op = model::CollectiveOp::kAllReduce, .participants = 2});
  run.ranks.clear();
  run.ranks.push_back({std::move(builder).finish(), 0, ""});
  analysis.integrity.missing_ranks = {1};

  EXPECT_THAT(
      run_notes(run, analysis),
      ElementsAre(HasSubstr(
          "Rank 1 of 2 is not in this run (collectives have 2 participants). The time split")));
}

TEST(RunNotes, DifferentStepsAreToldRankByRank) {
  model::Run run;
  for (int32_t r = 0; r < 3; ++r) run.ranks.push_back(rank(r, 3, "a"));
  analyzer::Analysis analysis;
  for (int32_t r = 0; r < 3; ++r)
    for (int64_t number = r == 2 ? 6 : 5; number < 9; ++number)
      analysis.steps.push_back(step(r, number));
  EXPECT_THAT(run_notes(run, analysis),
              ElementsAre(AllOf(HasSubstr("ranks 0, 1 5–8"), HasSubstr("rank 2 6–8"))));
}

TEST(RunNotes, HowWellClocksAgreeIsSaidWhereHostsDiffer) {
  model::Run run;
  run.ranks.push_back(rank(0, 2, "a"));
  run.ranks.push_back(rank(1, 2, "b"));
  run.clock = {"collective ends", 1000, 4000, 8};
  EXPECT_THAT(run_notes(run, {}),
              ElementsAre(AllOf(HasSubstr("8 collectives"), HasSubstr("4.00 µs"))));
  run.clock = {"epoch", {}, {}, 0};
  EXPECT_THAT(run_notes(run, {}), ElementsAre(HasSubstr("may be off by milliseconds")));
}

TEST(NumberList, JoinsNeighboursAndStopsWhereNobodyReadsOn) {
  EXPECT_EQ(number_list({}), "");
  EXPECT_EQ(number_list({4}), "4");
  EXPECT_EQ(number_list({4, 5}), "4, 5");
  EXPECT_EQ(number_list({0, 2, 3, 4, 9}), "0, 2–4 and 9");
  EXPECT_EQ(number_list({1, 3, 5, 7}, 2), "1, 3 and 2 more");
}

}  // namespace
}  // namespace stepscope::reports
