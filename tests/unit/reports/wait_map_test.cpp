// The map of who waits in which step: exact where there is room, means of neighbours and the telling devices where there is not.
#include "reports/html/wait_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::reports {
namespace {

using testing::ElementsAre;

analyzer::StepStats step_of(int32_t rank, int64_t number, int64_t wait_ns, bool warmup = false) {
  analyzer::StepStats step;
  step.ref = {rank, 0};
  step.step = number;
  step.time.exposed_wait_ns = wait_ns;
  step.warmup = warmup;
  return step;
}

TEST(WaitMap, HasACellForEachStepOfEachDevice) {
  analyzer::Analysis analysis;
  for (int64_t number = 0; number < 3; ++number) analysis.steps.push_back(step_of(0, number, 10 * number, number == 0));
  for (int64_t number : {1, 3}) analysis.steps.push_back(step_of(1, number, number));
  WaitMap const map = wait_map(analysis);
  ASSERT_EQ(map.columns.size(), 3U);
  EXPECT_EQ(map.columns[0].first, 1);  // the warm-up is left out
  EXPECT_EQ(map.columns[2].last, 3);
  ASSERT_EQ(map.rows.size(), 2U);
  EXPECT_THAT(map.rows[0].ns, ElementsAre(10, 20, -1));
  EXPECT_THAT(map.rows[1].ns, ElementsAre(1, -1, 3));
}

TEST(WaitMap, OfManyStepsHasMeansOfNeighbours) {
  analyzer::Analysis analysis;
  int64_t const steps = static_cast<int64_t>(kMapSteps) * 2;
  for (int32_t rank : {0, 1})
    for (int64_t number = 0; number < steps; ++number) analysis.steps.push_back(step_of(rank, number, number));
  WaitMap const map = wait_map(analysis);
  ASSERT_EQ(map.columns.size(), kMapSteps);
  EXPECT_EQ(map.columns[1].first, 2);
  EXPECT_EQ(map.columns[1].last, 3);
  EXPECT_EQ(map.rows[0].ns[5], 10);  // of 10 and 11, rounded down
}

TEST(WaitMap, OfManyDevicesHasThoseThatWaitLeastAndMost) {
  analyzer::Analysis analysis;
  auto const devices = static_cast<int32_t>(kMapDevices) + 10;
  for (int32_t rank = 0; rank < devices; ++rank)
    for (int64_t number : {0, 1}) analysis.steps.push_back(step_of(rank, number, rank));
  WaitMap const map = wait_map(analysis);
  ASSERT_EQ(map.rows.size(), kMapDevices);
  EXPECT_EQ(map.devices_left_out, 10U);
  EXPECT_EQ(map.rows.front().ref.rank_index, 0);
  EXPECT_EQ(map.rows.back().ref.rank_index, devices - 1);
  for (WaitMap::Row const& row : map.rows) EXPECT_FALSE(row.ref.rank_index >= 32 && row.ref.rank_index < 42);
}

TEST(WaitMap, IsEmptyWhereNothingIsToBeCompared) {
  analyzer::Analysis analysis;
  EXPECT_TRUE(wait_map(analysis).rows.empty());
  analysis.steps = {step_of(0, 0, 5), step_of(0, 1, 5)};
  EXPECT_TRUE(wait_map(analysis).rows.empty());  // one device
  analysis.steps = {step_of(0, 0, 5), step_of(1, 0, 5)};
  EXPECT_TRUE(wait_map(analysis).rows.empty());  // one step
  analysis.steps = {step_of(0, 0, 0), step_of(0, 1, 0), step_of(1, 0, 0), step_of(1, 1, 0)};
  EXPECT_TRUE(wait_map(analysis).rows.empty());  // nobody waits
}

}  // namespace
}  // namespace stepscope::reports
