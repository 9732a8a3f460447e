// What the host threads of a training share.
#include "workloads/training/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;

TEST(ReplicaCheck, SaysWhichDevicesDifferAfterWhichStep) {
  ReplicaCheck check(3);
  std::vector<float> const weights = {1.0F, 2.0F, 3.0F};
  std::vector<float> other = weights;
  other[2] = 3.0000002F;
  EXPECT_EQ(check.report(0, 4, weights), std::nullopt);
  EXPECT_EQ(check.report(2, 4, weights), std::nullopt);
  EXPECT_EQ(check.report(2, 9, weights), std::nullopt);
  EXPECT_THAT(check.report(1, 4, other).value_or(""),
              ::testing::AllOf(HasSubstr("devices 0 and 1"), HasSubstr("step 4")));
}

TEST(ReplicaCheck, ForgetsAStepThatAllHaveReported) {
  ReplicaCheck check(2);
  EXPECT_EQ(check.report(0, 1, std::vector<float>{1.0F}), std::nullopt);
  EXPECT_EQ(check.report(1, 1, std::vector<float>{1.0F}), std::nullopt);
  EXPECT_EQ(check.report(1, 1, std::vector<float>{2.0F}), std::nullopt);  // as a new step
}

}  // namespace
}  // namespace stepscope::workloads
