// The GAN training as a whole, on narrow networks so that it is quick, and the picture it leaves.
#include "workloads/networks/gan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/sanitized.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "tests/unit/workloads/weights.h"
#include "workloads/data/mnist_generator.h"
#include "workloads/data/picture_grid.h"
#include "workloads/networks/gan_networks.h"
#include "workloads/workload.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::read_bytes;
using testing::relative_difference;
using testing::TemporaryFolder;

constexpr GanWidths kNarrowGan = {16, 32, 64, 64, 64, 32};
constexpr size_t kSamples = 200;

class Gan : public ::testing::Test {
 protected:
  static MnistImages const& data() {
    static MnistImages const images = generate_mnist(500, 0);
    return images;
  }
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o = gan_defaults();
    o.device = device;
    o.batch = batch;
    o.steps = steps;
    o.log_every = 0;
    return o;
  }
  static GanResult train(TrainOptions const& o, size_t samples = 0,
                         GanModel const& model = dense_gan(kNarrowGan)) {
    auto result = train_gan(o, model, data(), samples, nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  }
};

/// The mean image, and the variance of a pixel averaged over the pixels; grey levels from −1 to 1.
struct Look {
  std::vector<double> mean = std::vector<double>(kMnistPixels);
  double variance = 0;
};
template <class Pixel>
Look look_of(size_t count, Pixel const& pixel) {
  Look look;
  auto const images = static_cast<double>(count);

  for (size_t p = 0; p < kMnistPixels; ++p) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; ++i) {
      double const value = pixel(i, p);
      sum += value;
      squares += value * value;
    }

    look.mean[p] = sum / images;
    look.variance +=
        (squares / images - look.mean[p] * look.mean[p]) / static_cast<double>(kMnistPixels);
  }
  return look;
}
double distance(Look const& a, Look const& b) {
  double squares = 0;
  for (size_t p = 0; p < kMnistPixels; ++p)
    squares += (a.mean[p] - b.mean[p]) * (a.mean[p] - b.mean[p]);
  return std::sqrt(squares / static_cast<double>(kMnistPixels));
}

TEST_F(Gan, DrawsVariedImagesWithTheMeanOfTheDataAndNeitherSideWins) {
  if (support::kSanitized)
    GTEST_SKIP() << "a minute of training; the shorter ones run the same code";

  constexpr GanWidths kStrong = {16, 64, 64, 128, 256, 128};
  Look const real =
      look_of(data().size(), [](size_t i, size_t p) { return data().image(i)[p] / 127.5 - 1.0; });
  auto const look_after = [&](GanResult const& result) {
    return look_of(kSamples, [&](size_t i, size_t p) {
      return static_cast<double>(result.samples[i * kMnistPixels + p]);
    });
  };

  TrainOptions o = options("host:2", 16, 200);
  o.learning_rate = 0.002;
  GanResult const trained = train(o, kSamples, dense_gan(kStrong));
  ASSERT_EQ(trained.samples.size(), kSamples * kMnistPixels);
  Look const drawn = look_after(trained);
  o.steps = 1;
  Look const untrained = look_after(train(o, kSamples, dense_gan(kStrong)));

  // Grey levels go from −1 to 1. Mostly black digits have a mean far from 0, where an untrained
  // tanh begins.
  EXPECT_GT(distance(untrained, real), 0.7);
  EXPECT_LT(distance(drawn, real), 0.4);
  EXPECT_GT(drawn.variance, 0.02) << "all images are the same";
  EXPECT_LT(drawn.variance, 2 * real.variance);

  auto const& losses = trained.training.losses;
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0].name, "discriminator");
  EXPECT_EQ(losses[1].name, "generator");
  EXPECT_NEAR(losses[0].by_step.front(), 2 * std::log(2.0), 0.3);
  EXPECT_NEAR(losses[1].by_step.front(), std::log(2.0), 0.3);

  // A discriminator that has won is near 0, and the generator's loss then grows without bounds.
  EXPECT_GT(losses[0].by_step.back(), 0.1);
  EXPECT_LT(losses[1].by_step.back(), 5.0);
}

TEST_F(Gan, TwoDevicesEndWithBitIdenticalWeights) {
  TrainingResult const result = train(options("host:2", 8, 10)).training;
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(result.weights[0], result.weights[1]);
}

TEST_F(Gan, DevicesWithBatchBEqualOneDeviceWithTheWholeBatch) {
  GanResult const whole = train(options("host:1", 16, 5), 8);
  for (auto const& [device, batch] : {std::pair{"host:2", 8}, std::pair{"host:4", 4}}) {
    GanResult const split = train(options(device, batch, 5), 8);
    // Adam divides by the gradients' size: where that is near zero, rounding is all there is. Its
    // effect is bounded by the rate.
    EXPECT_LT(relative_difference(whole.training.weights[0], split.training.weights[0]), 1e-3)
        << device;
    EXPECT_LT(relative_difference(whole.samples, split.samples), 1e-2) << device;
  }
}

TEST_F(Gan, AccumulatedBatchesEqualOneLargeBatchAndOverlapChangesNothing) {
  TrainOptions parts = options("host:2", 2, 6);
  parts.accumulate = 4;
  GanResult const accumulated = train(parts);

  EXPECT_LT(relative_difference(train(options("host:2", 8, 6)).training.weights[0],
                                accumulated.training.weights[0]),
            1e-3);

  parts.overlap = false;
  parts.prefetch = 3;
  parts.bucket_mb = 0;
  EXPECT_EQ(train(parts).training.weights[0], accumulated.training.weights[0]);
}

TEST_F(Gan, ResumedTrainingEqualsAnUninterruptedOne) {
  TemporaryFolder const folder;
  GanResult const whole = train(options("host:2", 8, 7));
  TrainOptions first = options("host:2", 8, 3);
  first.checkpoint = folder.file("c");
  train(first);
  TrainOptions second = options("host:2", 8, 7);
  second.resume = folder.file("c");
  EXPECT_EQ(train(second).training.weights[0], whole.training.weights[0]);
}

TEST_F(Gan, LossThatIsNotANumberStopsAndSaysTheStepAndWhose) {
  TrainOptions o = options("host:2", 8, 50);
  o.learning_rate = 1e20;
  TrainingResult const result = train(o).training;
  EXPECT_LT(result.loss.size(), 50U);
  EXPECT_THAT(result.failure.value_or(""),
              AllOf(HasSubstr("tor's loss"), HasSubstr("step"), HasSubstr("on host:"),
                    HasSubstr("--learning-rate")));
}

TEST_F(Gan, AllowNanGoesOnToTheLastStep) {
  TrainOptions o = options("host:2", 8, 12);
  o.learning_rate = 1e20;
  o.allow_nan = true;
  TrainingResult const result = train(o).training;
  EXPECT_EQ(result.failure, std::nullopt);
  ASSERT_EQ(result.loss.size(), 12U);
  EXPECT_FALSE(std::isfinite(result.loss.back()));
}

TEST_F(Gan, WrongOptionsMissingDataAndUnwritablePicturesAreRefused) {
  auto const error_of = [](std::vector<std::string> const& arguments) {
    auto const result = run_workload("gan", arguments);
    return result ? "" : result.error().message;
  };

  EXPECT_THAT(error_of({"--batch", "0"}), HasSubstr("--batch"));
  EXPECT_THAT(error_of({"--no-augment"}), HasSubstr("--no-augment"));
  EXPECT_THAT(error_of({"--data", "/nonexistent"}),
              AllOf(HasSubstr("/nonexistent/train-images-idx3-ubyte"), HasSubstr("--data")));
  EXPECT_THAT(error_of({"--samples", "/nonexistent/s.png"}),
              AllOf(HasSubstr("/nonexistent/s.png"), HasSubstr("--samples")));
}

// --conv.

class ConvGan : public Gan {
 protected:
  static constexpr ConvGanWidths kWidths = {8, 4, 8};
  static GanResult train(TrainOptions const& o, size_t samples = 0) {
    return Gan::train(o, samples, convolutional_gan(kWidths));
  }
};

TEST_F(ConvGan, DrawsVariedImagesWithTheMeanOfTheDataAndNeitherSideWins) {
  if (support::kSanitized)
    GTEST_SKIP() << "a minute of training; the shorter ones run the same code";

  Look const real =
      look_of(data().size(), [](size_t i, size_t p) { return data().image(i)[p] / 127.5 - 1.0; });
  TrainOptions o = options("host:2", 16, 120);
  o.learning_rate = 0.004;
  GanModel const model = convolutional_gan({16, 8, 16});
  GanResult const trained = Gan::train(o, kSamples, model);
  ASSERT_EQ(trained.samples.size(), kSamples * kMnistPixels);

  auto const pixel = [](GanResult const& result) {
    return [&](size_t i, size_t p) {
      return static_cast<double>(result.samples[i * kMnistPixels + p]);
    };
  };
  Look const drawn = look_of(kSamples, pixel(trained));
  o.steps = 1;
  GanResult const once = Gan::train(o, kSamples, model);

  EXPECT_GT(distance(look_of(kSamples, pixel(once)), real), 0.7);
  EXPECT_LT(distance(drawn, real), 0.4);
  EXPECT_GT(drawn.variance, 0.02) << "all images are the same";
  EXPECT_GT(trained.training.losses[0].by_step.back(), 0.05);
  EXPECT_LT(trained.training.losses[1].by_step.back(), 6.0);
}

TEST_F(ConvGan, DevicesWithBatchBEqualOneDeviceWithTheWholeBatch) {
  GanResult const whole = train(options("host:1", 8, 4), 8);
  GanResult const split = train(options("host:2", 4, 4), 8);
  EXPECT_EQ(split.training.weights[0], split.training.weights[1]);
  EXPECT_LT(relative_difference(whole.training.weights[0], split.training.weights[0]), 1e-3);
  EXPECT_LT(relative_difference(whole.samples, split.samples), 1e-2);
}

TEST_F(ConvGan, ResumesWhereItStoppedAndRefusesTheOtherKindsCheckpoint) {
  TemporaryFolder const folder;
  GanResult const whole = train(options("host:2", 4, 4));

  TrainOptions o = options("host:2", 4, 2);
  o.checkpoint = folder.file("c");
  train(o);

  o = options("host:2", 4, 4);
  o.resume = folder.file("c");
  EXPECT_EQ(train(o).training.weights[0], whole.training.weights[0]);
  EXPECT_THAT(train_gan(o, dense_gan(kNarrowGan), data(), 0, nullptr).error().message,
              HasSubstr("gan-conv-8-4-8"));
}

TEST(PictureGrid, IsAPngOfItsColumnsAndRows) {
  TemporaryFolder const folder;
  std::vector<float> const pictures(5 * 4 * 4, 1.0F);
  ASSERT_TRUE(write_picture_grid(folder.file("grid.png"), pictures, 4, 3).has_value());
  std::string const bytes = read_bytes(folder.file("grid.png"));
  ASSERT_GT(bytes.size(), 24U);
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1A\n");
  EXPECT_EQ(bytes[19], 12);  // three columns of 4 pixels
  EXPECT_EQ(bytes[23], 8);   // two rows
}

TEST(PictureGrid, ThatCannotBeWrittenIsAnError) {
  std::vector<float> const pictures(4);
  EXPECT_THAT(write_picture_grid("/nonexistent/g.png", pictures, 2, 1).error().message,
              HasSubstr("/nonexistent/g.png"));
}

}  // namespace
}  // namespace stepscope::workloads
