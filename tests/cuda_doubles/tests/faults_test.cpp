// Faults of CUPTI and of the GPU, over the doubles: a record becomes a row or a counted loss, and
// the program's own end and words stay as they are.
#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

using ::testing::HasSubstr;

constexpr char const* kRun =
    "run cifar10 --device cuda --batch 2 --steps 2 --no-evaluate --log-every 0 --json";

class CudaFaultsOverDoubles : public OverDoubles {
 protected:
  /// Records the training above into the folder "run".
  [[nodiscard]] e2e::Outcome record(std::string const& knobs) const {
    std::string const program =
        std::filesystem::absolute(support::build_path("cuda_doubles/bin/stepscope")).string();
    return over_doubles("record -o run -- '" + program + "' " + kRun, knobs);
  }
};

/// An enabling that takes its time once had the tracer take CUPTI's clock for another one.
TEST_F(CudaFaultsOverDoubles, ASlowCuptiWithAnotherClockLosesNothing) {
  auto const outcome =
      record("DOUBLE_CUPTI_VERSION=24 DOUBLE_CUPTI_ENABLE_MS=20 DOUBLE_CUPTI_AHEAD_NS=5000000000");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_all_rows(rows_of("run"), handed());
}

TEST_F(CudaFaultsOverDoubles, ZeroTimesAreAvoidedWhereCuptiMakesThem) {
  auto const outcome = record("DOUBLE_CUPTI_VERSION=130001 DOUBLE_CUPTI_FAULTS=zero");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(handed()["kernels without times"], 0U);
  expect_all_rows(rows_of("run"), handed());
}

TEST_F(CudaFaultsOverDoubles, WhatLiesBeforeAHoleIsRows) {
  auto const outcome = record("DOUBLE_CUPTI_FAULTS=hole");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  uint64_t const unreadable = handed()["unreadable"];
  EXPECT_GT(unreadable, 0U);
  Rows const rows = rows_of("run");
  EXPECT_EQ(rows.kernels(), handed()["kernels"]);

  // What lies behind is lost; how much is an estimate by the size of the records before.
  EXPECT_GT(rows.lost, unreadable / 2);
  EXPECT_LT(rows.lost, unreadable * 2);
  EXPECT_THAT(outcome.output, HasSubstr("left a part of its buffers unreadable"));
}

TEST_F(CudaFaultsOverDoubles, AnErrorThatSticksIsNamedAndWhatNeverRanIsCounted) {
  auto const outcome = record("DOUBLE_CUDA_FAIL_AT_KERNEL=40");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("an illegal memory access was encountered"));

  Rows const rows = rows_of("run");
  constexpr uint64_t kBeforeIt = 39;
  EXPECT_EQ(rows.kernels(), kBeforeIt);
  EXPECT_EQ(rows.kernels(), handed()["kernels"]);
  EXPECT_EQ(rows.lost, handed()["kernels without times"] + handed()["copies without times"]);
}

TEST_F(CudaFaultsOverDoubles, AGpuWithoutMemoryIsSaidWithWhatToDo) {
  auto const outcome = record("DOUBLE_CUDA_MEMORY_MB=20");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("cuda:0: out of memory"));
  EXPECT_THAT(outcome.output, HasSubstr("lower --batch"));
}

TEST_F(CudaFaultsOverDoubles, AMachineWithoutAGpuIsSaidWithWhatToDo) {
  auto const outcome = record("DOUBLE_CUDA_DEVICES=0");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("no GPU can be used"));
  EXPECT_THAT(outcome.output, HasSubstr("--device host"));
}

}  // namespace
}  // namespace stepscope::cuda_doubles
