// Devices that make others wait: sums by cause.
#include "analyzer/metrics/communication/late_devices.h"

#include <gtest/gtest.h>

namespace stepscope::analyzer {
namespace {

WaitStats wait_of(int32_t rank, WaitCause cause, int64_t exposed_ns) {
  WaitStats row;
  row.ref = {rank, 0};
  row.cause = cause;
  row.exposed_ns = exposed_ns;
  row.gpu_ns = exposed_ns + 1;
  return row;
}

TEST(LateDevices, SumTheirRowsByCauseTheLatestFirst) {
  Analysis analysis;
  analysis.waits = {wait_of(1, WaitCause::kCompute, 50), wait_of(0, WaitCause::kCopy, 30),
                    wait_of(1, WaitCause::kIdle, 15), wait_of(1, WaitCause::kIdle, 5)};

  auto const late = late_devices(analysis);
  ASSERT_EQ(late.size(), 2U);
  EXPECT_EQ(late[0].ref.rank_index, 1);
  EXPECT_EQ(late[0].exposed_ns, 70);
  EXPECT_EQ(late[0].gpu_ns, 73);
  EXPECT_EQ(late[0].share, 0.7);
  EXPECT_EQ(late[0].most, &analysis.waits[0]);
  ASSERT_EQ(late[0].parts.size(), 2U);
  EXPECT_EQ(late[0].parts[1].first, &analysis.waits[2]);
  EXPECT_EQ(late[0].parts[1].exposed_ns, 20);
  EXPECT_EQ(late[1].exposed_ns, 30);
}

TEST(LateDevices, KeepCausesOfIdleTimeApart) {
  Analysis analysis;
  analysis.waits = {wait_of(0, WaitCause::kIdle, 2), wait_of(0, WaitCause::kIdle, 1)};
  analysis.waits[0].idle = IdleCause::kInput;

  auto const late = late_devices(analysis);
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(late[0].parts.size(), 2U);
}

}  // namespace
}  // namespace stepscope::analyzer
