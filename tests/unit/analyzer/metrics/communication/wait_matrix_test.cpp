// The matrix of waits by step and device: exact where it is small, else means of neighbouring steps
// and the devices with the largest differences.
#include "analyzer/metrics/communication/wait_matrix.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;

StepStats waiting_step(int32_t rank, int64_t number, int64_t wait_ns, bool warmup = false) {
  StepStats step;
  step.ref = {rank, 0};
  step.step = number;
  step.time.exposed_late_ns = wait_ns;
  step.warmup = warmup;
  return step;
}

TEST(StepWaitMatrix, HasACellForEachStepOfEachDevice) {
  Analysis analysis;
  for (int64_t number = 0; number < 3; ++number)
    analysis.steps.push_back(waiting_step(0, number, 10 * number, number == 0));
  for (int64_t number : {1, 3}) analysis.steps.push_back(waiting_step(1, number, number));
  StepWaitMatrix const matrix = step_wait_matrix(analysis);

  ASSERT_EQ(matrix.columns.size(), 3U);
  EXPECT_EQ(matrix.columns[0].first, 1);  // the warm-up is left out
  EXPECT_EQ(matrix.columns[2].last, 3);
  ASSERT_EQ(matrix.rows.size(), 2U);
  EXPECT_THAT(matrix.rows[0].ns, ElementsAre(10, 20, -1));
  EXPECT_THAT(matrix.rows[1].ns, ElementsAre(1, -1, 3));
}

TEST(StepWaitMatrix, OfManyStepsHasMeansOfNeighbours) {
  Analysis analysis;
  int64_t const steps = static_cast<int64_t>(kMatrixSteps) * 2;
  for (int32_t rank : {0, 1})
    for (int64_t number = 0; number < steps; ++number)
      analysis.steps.push_back(waiting_step(rank, number, number));
  StepWaitMatrix const matrix = step_wait_matrix(analysis);

  ASSERT_EQ(matrix.columns.size(), kMatrixSteps);
  EXPECT_EQ(matrix.columns[1].first, 2);
  EXPECT_EQ(matrix.columns[1].last, 3);
  EXPECT_EQ(matrix.rows[0].ns[5], 10);  // of 10 and 11, rounded down
}

TEST(StepWaitMatrix, OfManyDevicesHasThoseThatWaitLeastAndMost) {
  Analysis analysis;
  auto const devices = static_cast<int32_t>(kMatrixDevices) + 10;
  for (int32_t rank = 0; rank < devices; ++rank)
    for (int64_t number : {0, 1}) analysis.steps.push_back(waiting_step(rank, number, rank));
  StepWaitMatrix const matrix = step_wait_matrix(analysis);

  ASSERT_EQ(matrix.rows.size(), kMatrixDevices);
  EXPECT_EQ(matrix.devices_left_out, 10U);
  EXPECT_EQ(matrix.rows.front().ref.rank_index, 0);
  EXPECT_EQ(matrix.rows.back().ref.rank_index, devices - 1);
  for (StepWaitMatrix::Row const& row : matrix.rows)
    EXPECT_FALSE(row.ref.rank_index >= 32 && row.ref.rank_index < 42);
}

TEST(StepWaitMatrix, IsEmptyWhereNothingIsToBeCompared) {
  Analysis analysis;
  EXPECT_TRUE(step_wait_matrix(analysis).rows.empty());
  analysis.steps = {waiting_step(0, 0, 5), waiting_step(0, 1, 5)};
  EXPECT_TRUE(step_wait_matrix(analysis).rows.empty());  // one device
  analysis.steps = {waiting_step(0, 0, 5), waiting_step(1, 0, 5)};
  EXPECT_TRUE(step_wait_matrix(analysis).rows.empty());  // one step
  analysis.steps = {waiting_step(0, 0, 0), waiting_step(0, 1, 0), waiting_step(1, 0, 0),
                    waiting_step(1, 1, 0)};
  EXPECT_TRUE(step_wait_matrix(analysis).rows.empty());  // no device waits
}

/// Two devices that lose so much by late peers, and wait so long in their one collective.
Analysis analysis_of_waits(std::array<int64_t, 2> lost_ns, std::array<int64_t, 2> wait_ns) {
  Analysis analysis;
  CollectiveStats collective;
  for (int32_t rank : {0, 1}) {
    auto const at = static_cast<size_t>(rank);
    DeviceStats device;
    device.ref = {rank, 0};
    device.time.exposed_late_ns = lost_ns.at(at);
    analysis.devices.push_back(device);
    collective.participants.push_back({.ref = {rank, 0}, .wait_ns = wait_ns.at(at)});
  }

  analysis.collectives.push_back(collective);
  return analysis;
}

TEST(WaitsByDevice, TellWhatIsLostApartFromWaitsThatComputeHides) {
  Analysis analysis = analysis_of_waits({500, 20}, {700, 900});
  auto const whole = waits_by_device(analysis);
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_EQ(whole[0].lost_ns, 500);  // without steps: in all
  EXPECT_EQ(whole[0].wait_ns, 700);

  // The longer wait is hidden: the other device loses more.
  ASSERT_EQ(longest_waits(analysis, 1).size(), 1U);
  EXPECT_EQ(longest_waits(analysis, 1).front().ref, (DeviceRef{0, 0}));
}

}  // namespace
}  // namespace stepscope::analyzer
