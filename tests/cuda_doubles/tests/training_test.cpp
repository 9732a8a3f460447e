// Training on CUDA devices, recorded, over the doubles: results as the host backend's, and every
// record that CUPTI handed over is a row.
#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

using model::EventKind;
using ::testing::HasSubstr;

constexpr char const* kShort = " --batch 4 --steps 4 --no-evaluate --log-every 0 --json";
/// float32 sums in another order, grown over the steps.
constexpr double kLossTolerance = 2e-3;

class CudaTrainingOverDoubles : public OverDoubles {};

TEST_F(CudaTrainingOverDoubles, LossIsThatOfTheHostAndEveryRecordIsARow) {
  auto const host = stepscope(std::string("run cifar10 --device host:1") + kShort);
  ASSERT_EQ(host.code, 0) << host.output;
  auto const cuda = over_doubles(std::string("profile cifar10 -o run --device cuda") + kShort);
  SKIP_WITHOUT_NAMESPACE(cuda);
  ASSERT_EQ(cuda.code, 0) << cuda.output;

  expect_near(summary_in(cuda.output)["loss"], summary_in(host.output)["loss"], kLossTolerance);
  Rows const rows = rows_of("run");
  expect_all_rows(rows, handed());
  EXPECT_EQ(rows.unmatched, 0U);
  EXPECT_EQ(rows.copied_bytes, handed()["copied bytes"]);
  EXPECT_EQ(rows.of(EventKind::kMemcpy), summary_in(cuda.output)["copies"].get<uint64_t>());
}

TEST_F(CudaTrainingOverDoubles, OnTwoGpusNcclsKernelsAreCollectives) {
  auto const outcome = over_doubles(
      std::string("profile cifar10 -o run --device cuda:all") + kShort, "DOUBLE_CUDA_DEVICES=2");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;

  Rows const rows = rows_of("run");
  expect_all_rows(rows, handed());
  EXPECT_EQ(rows.of(EventKind::kCollective),
            summary_in(outcome.output)["collectives"].get<uint64_t>());
}

TEST_F(CudaTrainingOverDoubles, DevicesThatShareAGpuReachTheWeightsOfTwoGpus) {
  auto const shared =
      over_doubles(std::string("profile cifar10 -o run --device cuda:0,cuda:0") + kShort);
  SKIP_WITHOUT_NAMESPACE(shared);
  ASSERT_EQ(shared.code, 0) << shared.output;
  expect_all_rows(rows_of("run"), handed());

  auto const apart =
      over_doubles(std::string("run cifar10 --device cuda:all") + kShort, "DOUBLE_CUDA_DEVICES=2");
  ASSERT_EQ(apart.code, 0) << apart.output;
  expect_near(summary_in(shared.output)["loss"], summary_in(apart.output)["loss"], kLossTolerance);
}

TEST_F(CudaTrainingOverDoubles, GraphsGiveTheSameLossesWithFewerLaunches) {
  auto const graphs =
      over_doubles(std::string("profile cifar10 -o run --device cuda --cuda-graphs") + kShort);
  SKIP_WITHOUT_NAMESPACE(graphs);
  ASSERT_EQ(graphs.code, 0) << graphs.output;
  expect_all_rows(rows_of("run"), handed());
  EXPECT_GT(handed()["call cudaGraphLaunch"], 0U);

  auto const plain = over_doubles(std::string("run cifar10 --device cuda") + kShort);
  ASSERT_EQ(plain.code, 0) << plain.output;
  EXPECT_EQ(summary_in(graphs.output)["loss"], summary_in(plain.output)["loss"]);
}

}  // namespace
}  // namespace stepscope::cuda_doubles
