// Command lines of the workloads: what is refused, and with which words.
#include "workloads/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/workload.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::vector<std::string> const& arguments) {
  auto const result = run_workload("cifar10", arguments);
  return result ? "" : result.error().message;
}

TEST(Workloads, UnknownOneIsRefusedWithTheKnownOnes) {
  auto const result = run_workload("cifar11", {});
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, ::testing::AllOf(HasSubstr("cifar11"), HasSubstr("cifar10")));
}

TEST(Workloads, HaveAOneLineDescription) {
  for (Workload const& workload : workloads()) {
    EXPECT_GT(std::string(workload.description).size(), 20U);
    EXPECT_EQ(std::string(workload.description).find('\n'), std::string::npos);
  }
}

TEST(Options, ZeroStepsOrImagesAreRefused) {
  EXPECT_THAT(error_of({"--steps", "0"}), ::testing::AllOf(HasSubstr("--steps"), HasSubstr("0")));
  EXPECT_THAT(error_of({"--batch", "0"}), HasSubstr("--batch"));
  EXPECT_THAT(error_of({"--steps", "-5"}), HasSubstr("--steps"));
}

TEST(Options, UnknownOnesAndNonsenseValuesAreRefused) {
  EXPECT_THAT(error_of({"--bogus"}), HasSubstr("--bogus"));
  EXPECT_THAT(error_of({"--steps", "many"}), HasSubstr("--steps"));
  EXPECT_THAT(error_of({"stray"}), HasSubstr("stray"));
  for (char const* const option : {"--learning-rate", "--decay-rate", "--bucket-mb"}) {
    for (char const* const value : {"nan", "inf", "-1", "x"})
      EXPECT_THAT(error_of({option, value}), HasSubstr(option)) << value;
  }
}

TEST(Options, CheckpointIntervalNeedsAFile) {
  EXPECT_THAT(error_of({"--checkpoint-every", "5"}), HasSubstr("--checkpoint FILE"));
}

TEST(Options, AreReadIntoTheirFields) {
  std::vector<std::string> const arguments = {
      "--device",     "host:4",     "--batch", "32",     "--no-overlap",
      "--no-augment", "--seed",     "9",       "--json", "--bucket-mb",
      "1.5",          "--prefetch", "0"};

  auto const options = parse_train_options("cifar10", "", arguments);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  TrainOptions const& o = **options;

  EXPECT_EQ(o.device, "host:4");
  EXPECT_EQ(o.batch, 32);
  EXPECT_EQ(o.seed, 9U);
  EXPECT_EQ(o.prefetch, 0);
  EXPECT_DOUBLE_EQ(o.bucket_mb, 1.5);
  EXPECT_FALSE(o.overlap);
  EXPECT_FALSE(o.augment);
  EXPECT_TRUE(o.json);
  EXPECT_EQ(o.steps, TrainOptions{}.steps);
}

TEST(Options, OfAWorkloadItselfHaveItsDefaults) {
  OwnOptions own;
  own.defaults.steps = 77;
  own.defaults.learning_rate = 0.25;
  std::vector<std::string> const arguments = {"--learning-rate", "0.5"};
  auto const options = parse_train_options("any", "", arguments, own);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ((*options)->steps, 77);
  EXPECT_DOUBLE_EQ((*options)->learning_rate, 0.5);
}

TEST(Options, DecayOfTheLearningRateCountsWholeIntervals) {
  TrainOptions o;
  o.learning_rate = 0.8;
  o.decay_rate = 0.5;
  EXPECT_DOUBLE_EQ(decayed_learning_rate(o, 1000), 0.8);
  o.decay_epochs = 3;
  EXPECT_DOUBLE_EQ(decayed_learning_rate(o, 2), 0.8);
  EXPECT_DOUBLE_EQ(decayed_learning_rate(o, 6), 0.2);
}

TEST(Options, HelpIsNotAnError) {
  std::vector<std::string> const arguments = {"--help"};
  ::testing::internal::CaptureStdout();
  auto const result = run_workload("cifar10", arguments);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("--bucket-mb"));
  EXPECT_EQ(result.value(), 0);
}

}  // namespace
}  // namespace stepscope::workloads
