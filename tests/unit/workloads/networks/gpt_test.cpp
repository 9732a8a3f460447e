// The GPT training as a whole, on a small network so that it is quick. Its gradient:
// transformer_ops_test.cpp.
#include "workloads/networks/gpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/sanitized.h"
#include "tests/unit/workloads/temporary_folder.h"
#include "tests/unit/workloads/weights.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::relative_difference;
using testing::TemporaryFolder;

class Gpt : public ::testing::Test {
 protected:
  static TokenizedText const& text() {
    static TokenizedText const tokens = tokenize(generated_text(20'000));
    return tokens;
  }
  static GptOptions small() {
    GptOptions gpt;
    gpt.shape = {2, 2, 16, 8, 0};
    gpt.warmup_steps = 3;
    gpt.decay_steps = 10;
    return gpt;
  }
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o = gpt_defaults();
    o.device = device;
    o.batch = batch;
    o.steps = steps;
    o.evaluate = false;
    o.log_every = 0;
    return o;
  }
  static TrainingResult train(TrainOptions const& o, GptOptions const& gpt = small()) {
    auto result = train_gpt(o, gpt, text(), nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return std::move(*result);
  }
  static std::string error_of(TrainOptions const& o, GptOptions const& gpt) {
    auto const result = train_gpt(o, gpt, text(), nullptr);
    return result ? "" : result.error().message;
  }
  static std::string command_error(std::vector<std::string> const& arguments) {
    auto const result = run_gpt(arguments);
    return result ? "" : result.error().message;
  }
};

TEST_F(Gpt, LearnsWordsFromTheGeneratedText) {
  if (support::kSanitized)
    GTEST_SKIP() << "a minute of training; the shorter ones run the same code";
  GptOptions gpt;
  gpt.shape = {2, 2, 32, 32, 0};
  TrainOptions o = options("host:2", 8, 150);
  o.learning_rate = 1e-2;
  o.evaluate = true;
  TrainingResult const result = train(o, gpt);
  EXPECT_NEAR(result.loss.front(), std::log(static_cast<double>(text().vocabulary.size())), 0.1);
  double const last = std::accumulate(result.loss.end() - 10, result.loss.end(), 0.0) / 10;

  EXPECT_LT(last, 1.5);
  EXPECT_GT(result.test_accuracy.value(), 0.55);
}

TEST_F(Gpt, TwoDevicesEndWithBitIdenticalWeights) {
  TrainingResult const result = train(options("host:2", 4, 10));
  ASSERT_EQ(result.weights.size(), 2U);
  EXPECT_EQ(result.weights[0], result.weights[1]);
}

TEST_F(Gpt, DevicesWithBatchBEqualOneDeviceWithTheWholeBatch) {
  TrainingResult const whole = train(options("host:1", 8, 10));
  for (auto const& [device, batch] : {std::pair{"host:2", 4}, std::pair{"host:4", 2}}) {
    TrainingResult const split = train(options(device, batch, 10));
    // AdamW's first steps are as long where a gradient is nothing but rounding as elsewhere; a
    // key's bias, which cannot change the loss, is such a place.
    EXPECT_LT(relative_difference(whole.weights[0], split.weights[0]), 1e-3) << device;
    for (size_t step = 0; step < whole.loss.size(); ++step) {
      EXPECT_NEAR(whole.loss[step], split.loss[step], 1e-4 * whole.loss[step])
          << device << " step " << step;
    }
  }
}

TEST_F(Gpt, WeightsDependNeitherOnOverlapNorOnBucketsPrefetchOrLoaderThreads) {
  TrainingResult const usual = train(options("host:2", 4, 5));
  TrainOptions other = options("host:2", 4, 5);
  other.overlap = false;
  other.bucket_mb = 0;
  other.prefetch = 0;
  other.loader_threads = 3;
  EXPECT_EQ(train(other).weights[0], usual.weights[0]);
}

TEST_F(Gpt, ResumedTrainingEqualsAnUninterruptedOne) {
  TemporaryFolder const folder;
  TrainingResult const whole = train(options("host:2", 4, 9));

  TrainOptions first = options("host:2", 4, 4);
  first.checkpoint = folder.file("c");
  train(first);

  TrainOptions second = options("host:2", 4, 9);
  second.resume = folder.file("c");
  TrainingResult const resumed = train(second);
  EXPECT_EQ(resumed.first_step, 4);
  EXPECT_EQ(resumed.weights[0], whole.weights[0]);
}

TEST_F(Gpt, CheckpointOfAnotherShapeIsRefused) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:1", 2, 1);
  o.checkpoint = folder.file("c");
  train(o);
  TrainOptions next = options("host:1", 2, 2);
  next.resume = folder.file("c");
  GptOptions wider = small();
  wider.shape.width = 32;
  EXPECT_THAT(error_of(next, wider), HasSubstr("gpt-layers2-heads2-width16-context8"));
}

TEST_F(Gpt, EvaluationCountsEachPositionOnceWhateverTheDevices) {
  TrainOptions o = options("host:1", 6, 1);
  o.learning_rate = 0;
  o.evaluate = true;
  double const one = train(o).test_accuracy.value();

  TrainOptions p = options("host:2", 3, 1);
  p.learning_rate = 0;
  p.evaluate = true;

  EXPECT_DOUBLE_EQ(train(p).test_accuracy.value(), one);
  EXPECT_GT(one, 0.0);
  EXPECT_LT(one, 0.3);
}

TEST_F(Gpt, LearningRateRisesLinearlyAndFallsToATenthAlongACosine) {
  TrainOptions o;
  o.learning_rate = 2;
  o.steps = 20;
  GptOptions gpt;
  gpt.warmup_steps = 4;

  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 0), 0.5);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 3), 2.0);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 4), 2.0);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 12), 1.1);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 20), 0.2);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 1000), 0.2);

  gpt.decay_steps = 36;
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 20), 1.1);
  gpt.warmup_steps = 0;
  gpt.decay_steps = 1;
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 0), 2.0);
  EXPECT_DOUBLE_EQ(gpt_learning_rate(o, gpt, 1), 0.2);
}

TEST_F(Gpt, GradientsAreReadyInTheOrderOfTheirParameters) {
  GptShape const shape = {2, 2, 16, 8, 27};
  ParameterLayout const layout = gpt_parameters(shape);
  EXPECT_EQ(layout.parameters.front().update_name, "head.update.weights");
  EXPECT_EQ(layout.parameters.back().update_name, "tokens.update.weights");

  std::vector<float> const weights = initial_weights(layout, 1);
  for (Parameter const& p : layout.parameters) {
    bool const is_scale = p.update_name.ends_with(".scale");
    EXPECT_EQ(p.initial, is_scale ? 1.0F : 0.0F) << p.update_name;
    if (is_scale) {
      EXPECT_EQ(weights[p.offset], 1.0F) << p.update_name;
    }
  }
}

TEST_F(Gpt, LossThatIsNotANumberStopsAndSaysTheStep) {
  TrainOptions o = options("host:2", 4, 50);
  o.learning_rate = 1e6;
  EXPECT_THAT(train(o).failure.value_or(""),
              AllOf(HasSubstr("gpt: the loss is"), HasSubstr("step")));
}

TEST_F(Gpt, MemoryLimitNamesTheOperationThatDidNotFit) {
  TrainOptions o = options("host:1", 512, 1);
  o.memory_limit_mib = 4;
  EXPECT_THAT(error_of(o, small()), AllOf(HasSubstr("out of memory"), HasSubstr("4.00 MiB")));
}

TEST_F(Gpt, NetworkThatIsLargerThanTheDeviceIsRefused) {
  EXPECT_THAT(command_error({"--layers", "1024", "--width", "16384"}),
              AllOf(HasSubstr("out of memory"), HasSubstr("smaller")));
}

TEST_F(Gpt, WidthThatTheHeadsCannotShareIsRefused) {
  EXPECT_THAT(command_error({"--width", "10", "--heads", "4"}),
              AllOf(HasSubstr("--width 10"), HasSubstr("--heads 4")));
}

TEST_F(Gpt, ContextThatIsLongerThanTheTextIsRefused) {
  GptOptions gpt = small();
  gpt.shape.context = 2'500;
  EXPECT_THAT(error_of(options("host:1", 2, 1), gpt),
              AllOf(HasSubstr("--context 2500"), HasSubstr("25010 bytes")));
  TemporaryFolder const folder;
  testing::write_bytes(folder.file("t"), std::string(200, 'x'));
  EXPECT_THAT(command_error({"--data", folder.file("t")}),
              AllOf(HasSubstr("200 bytes"), HasSubstr("--context 64")));
  EXPECT_THAT(command_error({"--data", folder.file("nosuch")}), HasSubstr("nosuch"));
}

TEST_F(Gpt, OptionsOutOfRangeOrOfOtherWorkloadsAreRefused) {
  EXPECT_THAT(command_error({"--layers", "0"}), HasSubstr("--layers"));
  EXPECT_THAT(command_error({"--heads", "0"}), HasSubstr("--heads"));
  EXPECT_THAT(command_error({"--decay-epochs", "3"}), HasSubstr("--decay-epochs"));
}

// --zero1.

class Zero1 : public Gpt {
 protected:
  static TrainOptions options(std::string const& device, int64_t batch, int64_t steps) {
    TrainOptions o = Gpt::options(device, batch, steps);
    o.update = UpdateKind::kSharded;
    return o;
  }
  /// Neither the whole network nor any bucket of `--bucket-mb 0` divides by 3.
  static GptOptions odd() {
    GptOptions gpt = small();
    gpt.shape = {2, 1, 11, 7, 0};
    return gpt;
  }
  static TrainOptions replicated(TrainOptions o) {
    o.update = UpdateKind::kReplicated;
    return o;
  }
};

TEST_F(Zero1, TrainsToTheSameBitsAsReplicatedState) {
  // The ring sums each element in the same order in both: also where the parts are not equal and
  // the last one is padded.
  for (auto const& [device, batch] : {std::pair{"host:1", 6}, std::pair{"host:2", 3},
                                      std::pair{"host:3", 2}, std::pair{"host:4", 2}}) {
    for (double const bucket_mb : {0.0, 0.01, 100.0}) {
      if (support::kSanitized && bucket_mb > 0.0) continue;
      for (GptOptions const& gpt : {small(), odd()}) {
        TrainOptions o = options(device, batch, 6);
        o.bucket_mb = bucket_mb;
        TrainingResult const sharded = train(o, gpt);

        for (auto const& weights : sharded.weights)
          EXPECT_EQ(weights, sharded.weights[0]) << device << " " << bucket_mb;
        EXPECT_EQ(sharded.weights[0], train(replicated(o), gpt).weights[0])
            << device << " " << bucket_mb;
      }
    }
  }
}

TEST_F(Zero1, EachDeviceHoldsItsPartOfTheOptimizersState) {
  for (auto const& [device, members] :
       {std::pair{"host:2", 2U}, std::pair{"host:3", 3U}, std::pair{"host:4", 4U}}) {
    TrainOptions const o = options(device, 2, 1);
    TrainingResult const sharded = train(o), whole = train(replicated(o));

    size_t const state = 2 * whole.weights[0].size() * sizeof(float);
    size_t const saved = whole.memory[0].allocated_bytes - sharded.memory[0].allocated_bytes;
    size_t const expected = state - state / members;

    // The arena rounds blocks up, and each bucket's parts are padded to be equal.
    EXPECT_NEAR(static_cast<double>(saved), static_cast<double>(expected), 2048) << device;
    for (MemoryUse const& memory : sharded.memory)
      EXPECT_EQ(memory.allocated_bytes, sharded.memory[0].allocated_bytes);
  }
}

TEST_F(Zero1, EachBucketIsReduceScatteredAndGatheredOnce) {
  TrainOptions o = options("host:2", 2, 5);
  o.bucket_mb = 0;
  TrainingResult const sharded = train(o), whole = train(replicated(o));
  EXPECT_EQ(sharded.counts.collectives, 2 * whole.counts.collectives);
  EXPECT_EQ(sharded.counts.launches,
            sharded.counts.kernels + sharded.counts.copies + sharded.counts.collectives);
}

TEST_F(Zero1, WeightsDependNeitherOnOverlapNorOnAccumulationsOrder) {
  TrainOptions o = options("host:2", 2, 5);
  o.accumulate = 2;
  TrainingResult const usual = train(o);
  EXPECT_EQ(train(replicated(o)).weights[0], usual.weights[0]);
  o.overlap = false;
  EXPECT_EQ(train(o).weights[0], usual.weights[0]);
}

TEST_F(Zero1, ResumesWithAnotherNumberOfDevicesAndWithoutSharding) {
  TemporaryFolder const folder;
  TrainOptions first = options("host:2", 6, 4);
  first.checkpoint = folder.file("c");
  train(first, odd());

  TrainOptions same = options("host:2", 6, 8);
  TrainingResult const whole = train(same, odd());
  same.resume = folder.file("c");
  EXPECT_EQ(train(same, odd()).weights[0], whole.weights[0]);
  EXPECT_EQ(train(replicated(same), odd()).weights[0], whole.weights[0]);

  for (auto const& [device, batch] : {std::pair{"host:3", 4}, std::pair{"host:1", 12}}) {
    TrainOptions other = options(device, batch, 8);
    other.resume = folder.file("c");
    EXPECT_LT(relative_difference(train(other, odd()).weights[0], whole.weights[0]), 1e-3)
        << device;
  }
}

TEST_F(Zero1, CheckpointsAreThoseOfReplicatedState) {
  TemporaryFolder const folder;
  TrainOptions o = options("host:3", 2, 4);
  o.checkpoint_every = 2;
  o.checkpoint = folder.file("sharded");
  train(o, odd());
  o.checkpoint = folder.file("replicated");
  train(replicated(o), odd());
  EXPECT_EQ(testing::read_bytes(folder.file("sharded")),
            testing::read_bytes(folder.file("replicated")));
}

}  // namespace
}  // namespace stepscope::workloads
