// The CIFAR-10 training as a whole, on a narrow network so that it is quick.
#include "workloads/networks/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "tests/unit/workloads/temporary_folder.h"
#include "tests/unit/workloads/weights.h"
#include "workloads/data/cifar10_generator.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;
using testing::read_bytes;
using testing::relative_difference;
using testing::TemporaryFolder;
using testing::write_bytes;

constexpr Cifar10Widths kNarrow = {16, 32, 16};

class Cifar10 : public ::testing::Test {
 protected:
  static CifarDataSet const& data() {
    static CifarDataSet const set = {generate_cifar(200, 0), generate_cifar(30, 1)};
    return set;
  }
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o;
    o.device = device;
    o.batch = batch;
    o.steps = steps;
    o.decay_epochs = 350;
    o.learning_rate = 0.01;
    o.evaluate = false;
    o.log_every = 0;
    return o;
  }
  static TrainingResult train(TrainOptions const& o) {
    auto result = train_cifar10(o, kNarrow, data(), nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  }
};

TEST_F(Cifar10, TwoDevicesEndWithBitIdenticalWeights) {
  TrainingResult const result = train(options("host:2", 8, 10));
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(result.weights[0], result.weights[1]);
}

TEST_F(Cifar10, DevicesWithBatchBEqualOneDeviceWithTheWholeBatch) {
  TrainOptions one = options("host:1", 16, 20);
  one.augment = false;
  TrainingResult const whole = train(one);

  for (auto const& [device, batch] : {std::pair{"host:2", 8}, std::pair{"host:4", 4}}) {
    TrainOptions many = options(device, batch, 20);
    many.augment = false;
    TrainingResult const split = train(many);
    EXPECT_LT(relative_difference(whole.weights[0], split.weights[0]), 1e-4) << device;
    EXPECT_NEAR(whole.loss.back(), split.loss.back(), 1e-4 * whole.loss.back()) << device;
  }
}

TEST_F(Cifar10, WeightsDependNeitherOnOverlapNorOnBucketsPrefetchOrLoaderThreads) {
  TrainingResult const usual = train(options("host:2", 8, 5));
  TrainOptions other = options("host:2", 8, 5);
  other.overlap = false;
  other.bucket_mb = 0;
  other.prefetch = 0;
  other.loader_threads = 3;
  other.check_replicas = 2;
  EXPECT_EQ(train(other).weights[0], usual.weights[0]);
}

TEST_F(Cifar10, AccumulatedBatchesEqualOneLargeBatch) {
  TrainOptions whole = options("host:2", 8, 6);
  TrainOptions parts = options("host:2", 2, 6);
  parts.accumulate = 4;
  whole.augment = parts.augment = false;
  EXPECT_LT(relative_difference(train(whole).weights[0], train(parts).weights[0]), 1e-4);
  TrainOptions late = parts;
  late.overlap = false;
  late.prefetch = 3;
  EXPECT_EQ(train(late).weights[0], train(parts).weights[0]);
}

TEST_F(Cifar10, TrainingLowersTheLoss) {
  TrainOptions o = options("host:2", 16, 120);
  o.learning_rate = 0.1;
  TrainingResult const result = train(o);
  EXPECT_NEAR(result.loss.front(), std::log(10.0), 0.3);
  EXPECT_LT(std::accumulate(result.loss.end() - 10, result.loss.end(), 0.0) / 10, 1.9);
}

TEST_F(Cifar10, EveryLaunchIsExecutedOnce) {
  TrainingResult const result = train(options("host:2", 4, 6));
  OpCounts const& c = result.counts;
  EXPECT_EQ(c.launches, c.kernels + c.copies + c.collectives);
  // Per device and step: 2 input copies and the loss; once: the weights in, compared, and out.
  EXPECT_EQ(c.copies, 2U * (6 * 3 + 3));
  EXPECT_EQ(c.host_to_device_bytes,
            2U * (6 * 4 * (24 * 24 * 3 + 1) * 4 + result.weights[0].size() * 4));
  EXPECT_EQ(c.kernels % (2 * 6), 0U);
}

TEST_F(Cifar10, ReportsOneTimeForEachStepOfEachDevice) {
  TrainingResult const result = train(options("host:2", 4, 7));
  EXPECT_EQ(result.loss.size(), 7U);
  ASSERT_EQ(result.step_ns.size(), 2U);
  for (auto const& times : result.step_ns) {
    EXPECT_EQ(times.size(), 7U);
    EXPECT_THAT(times, ::testing::Each(::testing::Gt(0)));
  }
}

TEST_F(Cifar10, ResumedTrainingEqualsAnUninterruptedOne) {
  TemporaryFolder const folder;
  TrainingResult const whole = train(options("host:2", 8, 9));

  TrainOptions first = options("host:2", 8, 4);
  first.checkpoint = folder.file("c");
  train(first);

  TrainOptions second = options("host:2", 8, 9);
  second.resume = folder.file("c");
  TrainingResult const resumed = train(second);
  EXPECT_EQ(resumed.first_step, 4);
  EXPECT_EQ(resumed.weights[0], whole.weights[0]);
}

TEST_F(Cifar10, PeriodicCheckpointIsTheStateAfterItsStep) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:1", 8, 5);
  o.checkpoint = folder.file("c");
  o.checkpoint_every = 2;
  train(o);
  TrainOptions late = options("host:1", 8, 5);
  late.resume = folder.file("c");
  EXPECT_THAT(train_cifar10(late, kNarrow, data(), nullptr).error().message,
              HasSubstr("already at step 5"));
}

TEST_F(Cifar10, CheckpointOfAnotherNetworkBatchOrSeedIsRefused) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:1", 8, 2);
  o.checkpoint = folder.file("c");
  train(o);

  TrainOptions next = options("host:1", 8, 4);
  next.resume = folder.file("c");
  EXPECT_THAT(train_cifar10(next, {32, 32, 16}, data(), nullptr).error().message,
              HasSubstr("cifar10-conv16"));
  next.batch = 4;
  EXPECT_THAT(train_cifar10(next, kNarrow, data(), nullptr).error().message,
              HasSubstr("8 images a step"));
  next.batch = 8;
  next.seed = 77;
  EXPECT_THAT(train_cifar10(next, kNarrow, data(), nullptr).error().message, HasSubstr("--seed 1"));
}

TEST_F(Cifar10, DamagedCheckpointIsRefused) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:1", 8, 2);
  o.checkpoint = folder.file("c");
  train(o);

  std::string bytes = read_bytes(folder.file("c"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_bytes(folder.file("c"), bytes);

  TrainOptions next = options("host:1", 8, 4);
  next.resume = folder.file("c");
  EXPECT_THAT(train_cifar10(next, kNarrow, data(), nullptr).error().message, HasSubstr("damaged"));
}

TEST_F(Cifar10, CheckpointThatCannotBeWrittenIsAFailureOfTheTraining) {
  TrainOptions o = options("host:2", 4, 3);
  o.checkpoint = "/nonexistent/folder/c";
  EXPECT_THAT(train(o).failure.value_or(""), HasSubstr("/nonexistent/folder"));
}

TEST_F(Cifar10, LossThatIsNotANumberStopsAndSaysTheStep) {
  TrainOptions o = options("host:2", 8, 50);
  o.learning_rate = 1e6;
  TrainingResult const result = train(o);
  EXPECT_LT(result.loss.size(), 50U);
  EXPECT_THAT(result.failure.value_or(""),
              ::testing::AllOf(HasSubstr("step"), HasSubstr("on host:"),
                               HasSubstr("--learning-rate"), HasSubstr("--allow-nan")));
}

TEST_F(Cifar10, AllowNanGoesOnToTheLastStep) {
  TrainOptions o = options("host:2", 8, 12);
  o.learning_rate = 1e6;
  o.allow_nan = true;
  TrainingResult const result = train(o);
  EXPECT_EQ(result.failure, std::nullopt);
  ASSERT_EQ(result.loss.size(), 12U);
  EXPECT_FALSE(std::isfinite(result.loss.back()));
}

TEST_F(Cifar10, MemoryLimitNamesTheOperationThatDidNotFit) {
  TrainOptions o = options("host:1", 128, 2);
  o.memory_limit_mib = 4;
  auto const result = train_cifar10(o, kNarrow, data(), nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, ::testing::AllOf(HasSubstr("out of memory"),
                                                       HasSubstr("conv1"), HasSubstr("4.00 MiB")));
}

TEST_F(Cifar10, EvaluationCountsEachTestImageOnceWhateverTheDevices) {
  TrainOptions o = options("host:1", 8, 1);
  o.evaluate = true;
  double const one = train(o).test_accuracy.value();
  TrainOptions p = options("host:2", 4, 1);
  p.evaluate = true;
  EXPECT_DOUBLE_EQ(train(p).test_accuracy.value(), one);
  EXPECT_NEAR(one * 30, std::round(one * 30), 1e-9);
}

TEST_F(Cifar10, CtrlCFinishesTheStepAndEndsAllDevices) {
  TrainOptions o = options("host:2", 8, 100'000'000);
  o.input_delay_ms = 1;
  pid_t const self = getpid();
  std::FILE* const log = tmpfile();

  // The signal is sent once training has printed its first line: the handler is installed by then.
  o.log_every = 1;
  std::thread interrupter([&] {
    while (ftell(log) <= 0) std::this_thread::yield();
    kill(self, SIGINT);
  });

  auto const result = train_cifar10(o, kNarrow, data(), log);
  interrupter.join();
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->interrupted);
  EXPECT_FALSE(result->failure.has_value());
  EXPECT_EQ(result->step_ns[0].size(), result->step_ns[1].size());
  EXPECT_EQ(result->weights[0], result->weights[1]);
  std::fclose(log);
}

// --mode async.

class AsynchronousCifar10 : public Cifar10 {
 protected:
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o = Cifar10::options(device, batch, steps);
    EXPECT_TRUE(make_asynchronous(o).has_value());
    return o;
  }
};

TEST_F(AsynchronousCifar10, EveryUpdateCountsTheUpdatesOfOthersThatCameBetween) {
  constexpr int64_t kSteps = 15;
  TrainingResult const result = train(options("host:3", 4, kSteps));
  ASSERT_EQ(result.staleness.size(), 3U);

  int64_t last = 0;
  for (auto const& staleness : result.staleness) {
    ASSERT_EQ(staleness.size(), static_cast<size_t>(kSteps));
    EXPECT_THAT(staleness, ::testing::Each(::testing::Ge(0)));
    // Its own updates and those between them: the number of this device's last update.
    last = std::max(last, std::accumulate(staleness.begin(), staleness.end(), kSteps));
  }

  EXPECT_EQ(last, 3 * kSteps);
}

TEST_F(AsynchronousCifar10, DiffersFromSynchronousAndStillLearns) {
  TrainOptions o = options("host:2", 16, 120);
  o.learning_rate = 0.03;  // two updates a step
  TrainingResult const result = train(o);

  EXPECT_EQ(result.failure, std::nullopt);
  EXPECT_NEAR(result.loss.front(), std::log(10.0), 0.3);
  // Who updates when is chance, and a late update may throw the loss back; it begins at 2.3.
  double least = result.loss.front();
  for (auto at = result.loss.begin(); at + 10 <= result.loss.end(); ++at)
    least = std::min(least, std::accumulate(at, at + 10, 0.0) / 10);
  EXPECT_LT(least, 2.1);
  // At the end all devices have the shared weights.
  EXPECT_EQ(result.weights[0], result.weights[1]);

  o.steps = 3;
  std::vector<float> const asynchronous = train(o).weights[0];
  o.update = UpdateKind::kReplicated;
  EXPECT_NE(train(o).weights[0], asynchronous);
}

TEST_F(AsynchronousCifar10, OneDeviceAloneTrainsAsSynchronously) {
  TrainOptions o = options("host:1", 8, 6);
  TrainingResult const alone = train(o);
  EXPECT_EQ(alone.staleness, (std::vector<std::vector<int64_t>>{{0, 0, 0, 0, 0, 0}}));
  o.update = UpdateKind::kReplicated;
  EXPECT_EQ(train(o).weights[0], alone.weights[0]);
}

TEST_F(AsynchronousCifar10, CheckpointAtTheEndHasTheUpdatesOfAllDevices) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:2", 4, 6);
  o.checkpoint = folder.file("c");
  TrainingResult const first = train(o);

  // A training that only loads them: no rate, one step.
  o.checkpoint.clear();
  o.resume = folder.file("c");
  o.steps = 7;
  o.learning_rate = 0;
  TrainingResult const next = train(o);

  EXPECT_EQ(next.first_step, 6);
  EXPECT_EQ(next.weights[0], first.weights[0]);
}

TEST_F(AsynchronousCifar10, StopsCleanlyWhereTheLossIsNotANumber) {
  TrainOptions o = options("host:2", 8, 50);
  o.learning_rate = 1e6;
  EXPECT_THAT(train(o).failure.value_or(""),
              ::testing::AllOf(HasSubstr("step"), HasSubstr("--learning-rate")));
}

TEST_F(AsynchronousCifar10, PeriodicCheckpointsAndUnknownModesAreRefused) {
  auto const error_of = [](std::vector<std::string> const& arguments) {
    auto const result = run_cifar10(arguments);
    return result ? "" : result.error().message;
  };
  EXPECT_THAT(error_of({"--mode", "async", "--checkpoint", "/tmp/c", "--checkpoint-every", "3"}),
              ::testing::AllOf(HasSubstr("--checkpoint-every"), HasSubstr("different steps")));
  EXPECT_THAT(error_of({"--mode", "hogwild"}), HasSubstr("--mode"));
}

}  // namespace
}  // namespace stepscope::workloads
