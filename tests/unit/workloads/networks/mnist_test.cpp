// The MNIST training as a whole, on a narrow network so that it is quick.
#include "workloads/networks/mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/workloads/temporary_folder.h"
#include "tests/unit/workloads/weights.h"
#include "workloads/data/mnist_generator.h"
#include "workloads/workload.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::relative_difference;
using testing::TemporaryFolder;

constexpr MnistWidths kNarrowMnist = {8, 16, 16, 32};

class Mnist : public ::testing::Test {
 protected:
  static MnistDataSet const& data() {
    static MnistDataSet const set = {generate_mnist(1000, 0), generate_mnist(200, 1)};
    return set;
  }
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o = mnist_defaults();
    o.device = device;
    o.batch = batch;
    o.steps = steps;
    o.evaluate = false;
    o.log_every = 0;
    return o;
  }
  static TrainingResult train(TrainOptions const& o) {
    auto result = train_mnist(o, kNarrowMnist, data(), nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  }
};

TEST_F(Mnist, NineOfTenDigitsAreReadRightAfterAFewEpochs) {
  TrainOptions o = options("host:2", 16, 120);
  o.learning_rate = 0.003;
  o.evaluate = true;
  TrainingResult const result = train(o);
  EXPECT_NEAR(result.loss.front(), std::log(10.0), 1.0);
  EXPECT_LT(result.loss.back(), 0.6);
  EXPECT_GT(result.test_accuracy.value(), 0.9);
}

TEST_F(Mnist, TwoDevicesEndWithBitIdenticalWeights) {
  TrainingResult const result = train(options("host:2", 8, 10));
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(result.weights[0], result.weights[1]);
}

TEST_F(Mnist, DevicesWithBatchBEqualOneDeviceWithTheWholeBatch) {
  TrainingResult const whole = train(options("host:1", 16, 5));
  for (auto const& [device, batch] : {std::pair{"host:2", 8}, std::pair{"host:4", 4}}) {
    TrainingResult const split = train(options(device, batch, 5));
    // Adam divides by the gradients' size: where that is near zero, rounding is all there is. Its
    // effect is bounded by the rate.
    EXPECT_LT(relative_difference(whole.weights[0], split.weights[0]), 1e-3) << device;
    EXPECT_NEAR(whole.loss.back(), split.loss.back(), 1e-3 * whole.loss.back()) << device;
  }
}

TEST_F(Mnist, ResumedTrainingEqualsAnUninterruptedOne) {
  TemporaryFolder const folder;
  TrainingResult const whole = train(options("host:2", 8, 7));
  TrainOptions first = options("host:2", 8, 3);
  first.checkpoint = folder.file("c");
  train(first);
  TrainOptions second = options("host:2", 8, 7);
  second.resume = folder.file("c");
  EXPECT_EQ(train(second).weights[0], whole.weights[0]);
}

TEST_F(Mnist, LossThatIsNotANumberStopsAndSaysTheStep) {
  TrainOptions o = options("host:2", 8, 50);
  o.learning_rate = 1e20;
  TrainingResult const result = train(o);
  EXPECT_LT(result.loss.size(), 50U);
  EXPECT_THAT(result.failure.value_or(""),
              AllOf(HasSubstr("mnist"), HasSubstr("step"), HasSubstr("--learning-rate")));
}

TEST_F(Mnist, MemoryLimitNamesTheOperationThatDidNotFit) {
  TrainOptions o = options("host:1", 256, 2);
  o.memory_limit_mib = 4;
  auto const result = train_mnist(o, kNarrowMnist, data(), nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("out of memory"), HasSubstr("conv1"), HasSubstr("4.00 MiB")));
}

TEST_F(Mnist, WrongOptionsAndMissingDataAreRefused) {
  auto const error_of = [](std::vector<std::string> const& arguments) {
    auto const result = run_workload("mnist", arguments);
    return result ? "" : result.error().message;
  };
  EXPECT_THAT(error_of({"--batch", "0"}), HasSubstr("--batch"));
  EXPECT_THAT(error_of({"--data", "/nonexistent"}),
              AllOf(HasSubstr("/nonexistent/train-images-idx3-ubyte"), HasSubstr("--data")));
}

}  // namespace
}  // namespace stepscope::workloads
