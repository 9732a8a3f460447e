// What kernels take with other work, from two runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/whatif/changes/work.h"

namespace stepscope::analyzer {
namespace {

TEST(WorkTimes, AreAPartThatStaysAndOneThatGrowsWithTheWork) {
  // Half of the work takes 0.7 of the time: 0.4 stay.
  for (auto const& [work, time] : std::initializer_list<std::pair<double, double>>{
           {1, 1}, {0.5, 0.7}, {0.25, 0.55}, {0, 0.4}, {2, 1.6}})
    EXPECT_NEAR(time_at_work(0.7, 0.5, work), time, 1e-12) << work;
  // A probe with more work tells the same line.
  EXPECT_NEAR(time_at_work(1.6, 2, 0.5), 0.7, 1e-12);
}

TEST(WorkTimes, NeitherFallFasterThanTheWorkNorGrowWithLess) {
  EXPECT_NEAR(time_at_work(0.4, 0.5, 0.25), 0.25, 1e-12);
  EXPECT_NEAR(time_at_work(1.1, 0.5, 0.25), 1, 1e-12);
}

ProbeRun run_with(std::vector<RunMeasurements::Kernel> kernels) {
  ProbeRun run;
  run.measurements.kernels = std::move(kernels);
  run.measurements.devices = 2;
  return run;
}

TEST(WorkTimes, AreComparedByStepAndByCall) {
  // In twice as many calls, half the work each, a step's gemm takes 1.2 times as long.
  WorkRatios const ratios =
      compare_work(run_with({{"gemm", {100, 100}, {10, 10}}, {"norm", {20, 20}, {10, 10}}}),
                   run_with({{"gemm", {120, 120}, {20, 20}}, {"other", {9, 9}, {1, 1}}}));
  ASSERT_EQ(ratios.kernels.size(), 1U);
  EXPECT_NEAR(ratios.kernels.at("gemm").step, 1.2, 1e-12);
  EXPECT_NEAR(ratios.kernels.at("gemm").call, 0.6, 1e-12);
  EXPECT_NEAR(ratios.all.call, 0.6, 1e-12);
  EXPECT_FALSE(ratios.message);
}

TEST(WorkTimes, OfKernelsThatAreNotToldApartAreNotCompared) {
  EXPECT_TRUE(compare_work(run_with({{"", {5}, {1}}}), run_with({{"", {4}, {1}}})).kernels.empty());
  EXPECT_TRUE(
      compare_work(run_with({{"a", {0}, {0}}}), run_with({{"a", {4}, {1}}})).kernels.empty());
}

}  // namespace
}  // namespace stepscope::analyzer
