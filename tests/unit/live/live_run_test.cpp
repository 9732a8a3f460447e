// What live reports of a run, on records made by hand.
#include "analyzer/live/live_run.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include <gmock/gmock.h>

#include "reports/live/live_page.h"
#include "tests/unit/live/made_records.h"

namespace stepscope::analyzer {
namespace {

using stream::TimePart;
using support::made_record;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::optional<Worth> find_worth(LiveRun const& live, WorthKind kind) {
  for (Worth const& worth : live.worth())
    if (worth.kind == kind) return worth;
  return {};
}

void add_good_steps(LiveRun& live, int32_t ranks, int64_t first, int64_t count) {
  for (int64_t step = first; step < first + count; ++step)
    for (int32_t rank = 0; rank < ranks; ++rank) live.add(rank, 100 + rank, made_record(step));
}

TEST(LiveRun, SaysSinceWhichStepItIsSlower) {
  LiveRun live;
  add_good_steps(live, 4, 0, 1000);
  EXPECT_THAT(live.worth(), IsEmpty());
  for (int64_t step = 1000; step < 1040; ++step)
    for (int32_t rank = 0; rank < 4; ++rank)
      live.add(rank, 100 + rank, made_record(step, 10'000'000, TimePart::kCopy));

  auto const slower = find_worth(live, WorthKind::kSlower);
  ASSERT_TRUE(slower.has_value());
  EXPECT_EQ(slower->ns, 10'000'000);
  EXPECT_EQ(slower->part, TimePart::kCopy);
  EXPECT_FALSE(slower->line.has_value());
  EXPECT_GE(slower->first_step, 980);
  EXPECT_LE(slower->first_step, 1016);
}

/// The rank that has the reason waits less than the others.
TEST(LiveRun, NamesTheRankThatOthersWaitForAndItsReason) {
  LiveRun live;
  for (int64_t step = 0; step < 100; ++step)
    for (int32_t rank = 0; rank < 4; ++rank)
      live.add(rank, 100 + rank,
               rank == 2 ? made_record(step, 20'000'000, TimePart::kInput)
                         : made_record(step, 20'000'000, TimePart::kCommunication));

  auto const late = find_worth(live, WorthKind::kLateRank);
  ASSERT_TRUE(late.has_value());
  ASSERT_TRUE(late->line.has_value());
  EXPECT_EQ(late->line->rank, 2);
  EXPECT_EQ(late->ns, 20'000'000);
  EXPECT_EQ(late->part, TimePart::kInput);
  EXPECT_EQ(live.lines()[2].late_ns, 20'000'000);
  EXPECT_EQ(live.lines()[1].late_ns, 0);
}

/// Ranks share short steps in records of different lengths.
TEST(LiveRun, ComparesRanksWhoseRecordsHaveDifferentSteps) {
  LiveRun live;
  for (int64_t step = 0; step < 400; ++step) {
    live.add(0, 100, made_record(step, 30'000'000, TimePart::kCommunication));
    if (step % 2 == 1) {
      stream::StepRecord two = made_record(step - 1, 30'000'000);
      stream::append(two, made_record(step, 30'000'000));
      live.add(1, 101, two);
    }
  }

  auto const late = find_worth(live, WorthKind::kLateRank);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->line->rank, 1);
  EXPECT_EQ(late->ns, 30'000'000);
}

TEST(LiveRun, ARankThatBeganAnewHasFewSteps) {
  LiveRun live;
  add_good_steps(live, 4, 0, 300);
  live.forget_rank(0);
  for (int64_t step = 300; step < 305; ++step) live.add(0, 999, made_record(step));
  for (int64_t step = 300; step < 305; ++step)
    for (int32_t rank = 1; rank < 4; ++rank) live.add(rank, 100 + rank, made_record(step));

  EXPECT_THAT(live.worth(), IsEmpty());
  EXPECT_THAT(live.lines(), SizeIs(4));
  EXPECT_THAT(live.strip(10), SizeIs(10));
}

TEST(LiveRun, AProcessThatUsesADeviceLaterHasOneLine) {
  LiveRun live;
  stream::StepRecord without = made_record(0);
  without.device = -1;
  live.add(0, 100, without);
  live.add(0, 100, made_record(1));
  ASSERT_THAT(live.lines(), SizeIs(1));
  EXPECT_EQ(live.lines()[0].key.device, 0);
}

TEST(LiveRun, SlowStepsThatFollowOneAnotherAreOne) {
  LiveRun live;
  add_good_steps(live, 2, 0, 100);
  for (int64_t step = 100; step < 103; ++step)
    for (int32_t rank = 0; rank < 2; ++rank)
      live.add(rank, 100 + rank, made_record(step, 200'000'000, TimePart::kIdle));
  add_good_steps(live, 2, 103, 20);

  ASSERT_THAT(live.worth(), SizeIs(1));
  Worth const slow = live.worth()[0];
  EXPECT_EQ(slow.kind, WorthKind::kSlowStep);
  EXPECT_EQ(slow.first_step, 100);
  EXPECT_EQ(slow.last_step, 102);
  EXPECT_EQ(slow.ns, 600'000'000);
  EXPECT_EQ(slow.part, TimePart::kIdle);
}

TEST(LivePage, FitsEightyColumnsAndObeysNoName) {
  LiveRun live;
  model::TraceInfo info;
  info.rank = 255;
  info.process_id = 100 + 255;
  info.host = "evil\x1b[31m";
  live.add_process(info);
  for (int64_t step = 1'000'000; step < 1'000'040; ++step)
    for (int32_t rank = 250; rank < 256; ++rank) {
      stream::StepRecord record = made_record(step, rank == 251 ? 9'000'000 : 0);
      record.peak_bytes = int64_t{61} << 30;
      live.add(rank, 100 + rank, record);
    }

  auto state = reports::live_state("run\x1b[2J", live, 400, 0);
  state.problems = {"a\nb", "c", "d", "e", "f"};
  std::string const page = reports::live_page(state, 3, {.color = false, .width = 80});
  EXPECT_THAT(page, AllOf(Not(HasSubstr("\x1b")), HasSubstr("and 3 more"),
                          HasSubstr("and 2 more problems"), HasSubstr("251")));
  EXPECT_THAT(page, ::testing::ContainsRegex("step length, from step [0-9,]+, longest .*\n.*█"));
  for (size_t const width : {80U, 40U}) {
    std::istringstream lines(
        reports::live_page(state, 3, {.color = false, .width = static_cast<int>(width)}));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(reports::columns_of(line), width) << line;
  }
}

TEST(LivePage, SaysHowToWriteTheRingOfARunThatKeepsOne) {
  LiveRun live;
  model::TraceInfo info;
  info.process_id = 100;
  live.add_process(info);
  add_good_steps(live, 1, 0, 40);
  live.add(0, 100, made_record(40, 900'000'000));
  auto const page = [&] {
    return reports::live_page(reports::live_state("run", live, 400, 0), 3, {});
  };
  EXPECT_THAT(page(), AllOf(HasSubstr("Step 40 took"), Not(HasSubstr("trigger"))));

  info.facts.emplace_back("ring", "the last 60 s");
  live.add_process(info);
  EXPECT_THAT(page(), HasSubstr("write it with: stepscope trigger run"));
  live.end_process(0, 100);
  EXPECT_THAT(page(), Not(HasSubstr("trigger")));
}

TEST(LivePage, SaysThatNoStepHasEnded) {
  LiveRun const live;
  auto const state = reports::live_state("run", live, 400, 0);
  EXPECT_EQ(reports::live_page(state, 3, {}), "run: no step has ended yet\n");
}

}  // namespace
}  // namespace stepscope::analyzer
