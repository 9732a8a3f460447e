// Model parallel: the cut, the schedules, and that a split network trains to the weights of the
// whole one.
#include "workloads/model_parallel/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tests/unit/workloads/temporary_folder.h"
#include "tests/unit/workloads/weights.h"
#include "workloads/data/augment.h"
#include "workloads/data/cifar10_generator.h"
#include "workloads/model_parallel/schedule.h"
#include "workloads/model_parallel/stage.h"
#include "workloads/training/checkpoint.h"

namespace stepscope::workloads {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;
using testing::relative_difference;
using testing::TemporaryFolder;

using Cut = std::vector<size_t>;
constexpr auto kOneForwardOneBackward = PipelineSchedule::kOneForwardOneBackward;

TEST(SplitCut, EqualLayersGiveEqualStages) {
  EXPECT_EQ(cut_layers(std::vector<double>(8, 1.0), std::vector<double>(2, 1.0)).value(),
            (Cut{0, 4, 8}));
  EXPECT_EQ(cut_layers(std::vector<double>(8, 1.0), std::vector<double>(4, 1.0)).value(),
            (Cut{0, 2, 4, 6, 8}));
  EXPECT_EQ(cut_layers(std::vector<double>(3, 1.0), std::vector<double>(3, 1.0)).value(),
            (Cut{0, 1, 2, 3}));
}

TEST(SplitCut, TheLargestStageIsAsSmallAsAnyCutAllows) {
  std::vector<double> const costs = {5, 1, 1, 9, 2, 2, 4, 1, 3};
  Cut const cut = cut_layers(costs, std::vector<double>(3, 1.0)).value();
  auto const cost_of = [&](size_t first, size_t last) {
    return std::accumulate(costs.begin() + static_cast<ptrdiff_t>(first),
                           costs.begin() + static_cast<ptrdiff_t>(last), 0.0);
  };

  double best = 1e9;
  for (size_t a = 1; a < costs.size(); ++a) {
    for (size_t b = a + 1; b < costs.size(); ++b) {
      best = std::min(best, std::max({cost_of(0, a), cost_of(a, b), cost_of(b, costs.size())}));
    }
  }

  EXPECT_EQ(std::max({cost_of(cut[0], cut[1]), cost_of(cut[1], cut[2]), cost_of(cut[2], cut[3])}),
            best);
}

TEST(SplitCut, SharesSkewIt) {
  EXPECT_EQ(cut_layers(std::vector<double>(8, 1.0), std::vector<double>{3.0, 1.0}).value(),
            (Cut{0, 6, 8}));
}

TEST(SplitCut, MoreStagesThanLayersAreRefused) {
  auto const cut = cut_layers(std::vector<double>(2, 1.0), std::vector<double>(3, 1.0));
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().message, AllOf(HasSubstr("3 stages"), HasSubstr("2 layers")));
}

TEST(SplitSchedule, OneForwardOneBackwardAlternatesOnceThePipelineIsFull) {
  std::vector<PipelineOp> const first = {{true, 0}, {true, 1},  {false, 0},
                                         {true, 2}, {false, 1}, {false, 2}};
  EXPECT_EQ(stage_ops(kOneForwardOneBackward, 0, 2, 3), first);
  std::vector<PipelineOp> const last = {{true, 0},  {false, 0}, {true, 1},
                                        {false, 1}, {true, 2},  {false, 2}};
  EXPECT_EQ(stage_ops(kOneForwardOneBackward, 1, 2, 3), last);
}

TEST(SplitSchedule, EveryMicroBatchGoesForwardThenBackwardAndNoMoreAreHeldThanSaid) {
  for (PipelineSchedule const schedule : {PipelineSchedule::kGpipe, kOneForwardOneBackward}) {
    for (int64_t stages = 1; stages <= 4; ++stages) {
      for (int64_t micro_batches : {1, 2, 3, 8}) {
        for (int64_t stage = 0; stage < stages; ++stage) {
          int64_t forward = 0, backward = 0, held = 0;
          for (PipelineOp const& op : stage_ops(schedule, stage, stages, micro_batches)) {
            EXPECT_EQ(op.micro_batch, op.forward ? forward : backward);
            ++(op.forward ? forward : backward);
            ASSERT_LE(backward, forward);
            held = std::max(held, forward - backward);
          }

          EXPECT_EQ(forward, micro_batches);
          EXPECT_EQ(backward, micro_batches);
          EXPECT_EQ(held, held_micro_batches(schedule, stage, stages, micro_batches));
        }
      }
    }
  }
}

TEST(SplitSchedule, IdealBubbleIsThatOfTheFormula) {
  EXPECT_DOUBLE_EQ(ideal_bubble(2, 8), 1.0 / 9.0);
  EXPECT_DOUBLE_EQ(ideal_bubble(1, 8), 0.0);
}

class Split : public ::testing::Test {
 protected:
  static constexpr auto kSide = static_cast<int64_t>(kCropSide);

  static CifarDataSet const& data() {
    static CifarDataSet const set = {generate_cifar(96, 0), generate_cifar(50, 1)};
    return set;
  }
  static LayeredNetwork mlp() {
    return describe_mlp(static_cast<int64_t>(kCropFloats) / 2, kCifarClasses, {3, 24});
  }
  static LayeredNetwork cnn() { return describe_cnn(kSide, 3, kCifarClasses, {16, 24, 16}); }
  static SplitOptions options(std::string const& device, std::string const& schedule,
                              int64_t micro_batches) {
    SplitOptions o;
    o.device = device;
    o.schedule = schedule;
    o.micro_batches = micro_batches;

    o.batch = 24;
    o.steps = 5;
    o.log_every = 0;
    o.evaluate = false;
    return o;
  }
  static SplitResult train(SplitOptions const& o, LayeredNetwork const& network) {
    auto result = train_split(o, network, data(), nullptr);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? std::move(*result) : SplitResult();
  }
};

TEST_F(Split, StagesAndMicroBatchesGiveTheWeightsOfTheWholeNetwork) {
  for (LayeredNetwork const& network : {mlp(), cnn()}) {
    SplitResult const whole = train(options("host:1", "gpipe", 1), network);

    for (auto const& [device, micro_batches] :
         {std::pair{"host:1", 4}, std::pair{"host:2", 1}, std::pair{"host:2", 4},
          std::pair{"host:3", 6}, std::pair{"host:4", 2}}) {
      SplitResult const split = train(options(device, "1f1b", micro_batches), network);
      EXPECT_LT(relative_difference(whole.weights, split.weights), 1e-5)
          << network.name << " " << device << " " << micro_batches;
      EXPECT_NEAR(split.loss.back(), whole.loss.back(), 1e-4) << network.name << " " << device;
    }
  }
}

TEST_F(Split, BothSchedulesGiveTheSameBits) {
  for (LayeredNetwork const& network : {mlp(), cnn()}) {
    for (char const* device : {"host:2", "host:3", "host:4"}) {
      SplitResult const gpipe = train(options(device, "gpipe", 6), network);
      SplitResult const other = train(options(device, "1f1b", 6), network);
      EXPECT_EQ(gpipe.weights, other.weights) << network.name << " " << device;
      EXPECT_EQ(gpipe.loss, other.loss);
      EXPECT_GT(gpipe.activation_bytes.back(), other.activation_bytes.back());
    }
  }
}

TEST_F(Split, EveryWeightIsTrained) {
  SplitOptions o = options("host:3", "1f1b", 2);
  o.steps = 1;
  SplitResult const once = train(o, mlp());

  o.learning_rate = 0.5;
  SplitResult const faster = train(o, mlp());
  ASSERT_EQ(once.weights.size(), faster.weights.size());

  size_t same = 0;
  for (size_t i = 0; i < once.weights.size(); ++i)
    same += once.weights[i] == faster.weights[i] ? 1 : 0;
  // ReLUs that no image of the batch switches on keep theirs.
  EXPECT_LT(static_cast<double>(same), 0.3 * static_cast<double>(once.weights.size()));
}

TEST_F(Split, TrainingLowersTheLoss) {
  SplitOptions o = options("host:2", "1f1b", 4);
  o.steps = 60;
  EXPECT_NEAR(train(o, mlp()).loss.front(), std::log(10.0), 0.4);
  EXPECT_LT(train(o, mlp()).loss.back(), 1.6);
}

TEST_F(Split, BubbleIsAShareOfTheTime) {
  SplitResult const result = train(options("host:2", "gpipe", 4), mlp());
  EXPECT_EQ(result.bubble.size(), 5U);
  EXPECT_EQ(result.step_ns.size(), 5U);
  EXPECT_THAT(result.bubble, Each(AllOf(Ge(0.0), Lt(1.0))));
  EXPECT_DOUBLE_EQ(result.ideal_bubble, 0.2);
  ASSERT_EQ(result.busy_ns.size(), 2U);
  for (auto const& busy : result.busy_ns) EXPECT_THAT(busy, ::testing::SizeIs(5));
}

TEST_F(Split, DefaultMlpIsCutIntoStagesOfEqualCost) {
  LayeredNetwork const network = describe_mlp(MlpShape().width, kCifarClasses, {});
  for (size_t i = 1; i + 1 < network.layers.size(); ++i)
    EXPECT_EQ(network.layers[i].cost, network.layers[0].cost);
  EXPECT_LT(network.layers.back().cost, 0.02 * network.layers[0].cost);
}

TEST_F(Split, BadOptionsAreErrorsThatSayWhatToDo) {
  auto const error_of = [](SplitOptions const& o) {
    auto const result = train_split(o, mlp(), data(), nullptr);
    return result ? std::string("none") : result.error().message;
  };

  EXPECT_THAT(error_of(options("host:5", "gpipe", 1)),
              AllOf(HasSubstr("5 stages"), HasSubstr("4 layers")));
  EXPECT_THAT(error_of(options("host:2", "gpipe", 7)),
              AllOf(HasSubstr("--batch 24"), HasSubstr("7")));
  EXPECT_THAT(error_of(options("host:2", "zigzag", 1)),
              AllOf(HasSubstr("zigzag"), HasSubstr("1f1b")));

  SplitOptions small = options("host:1", "gpipe", 1);
  small.batch = 4'800;
  small.memory_limit_mib = 4;
  EXPECT_THAT(error_of(small), HasSubstr("out of memory"));
}

TEST_F(Split, LossThatIsNotANumberStopsAllStagesAndSaysTheStep) {
  SplitOptions o = options("host:2", "1f1b", 4);
  o.steps = 1'000;
  o.learning_rate = 1e6;
  SplitResult const result = train(o, mlp());
  EXPECT_LT(result.loss.size(), 1'000U);
  EXPECT_THAT(result.failure.value_or(""),
              AllOf(HasSubstr("step"), HasSubstr("on host:1"), HasSubstr("--learning-rate")));
}

TEST_F(Split, AStepThatFailsLeavesTheCheckpointBeforeIt) {
  TemporaryFolder const folder;
  SplitOptions o = options("host:2", "1f1b", 4);
  o.steps = 1'000;
  o.learning_rate = 1e6;
  o.checkpoint = folder.file("checkpoint");
  o.checkpoint_every = 1;

  SplitResult const result = train(o, mlp());
  ASSERT_TRUE(result.failure);

  ParameterLayout const layout = lay_out(mlp().layers, mlp().name);
  auto const kept = load_checkpoint(o.checkpoint, layout.model, layout.floats);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_LT(kept->step, static_cast<int64_t>(result.loss.size()));
  EXPECT_TRUE(std::all_of(kept->weights.begin(), kept->weights.end(),
                          [](float v) { return std::isfinite(v); }));
}

TEST_F(Split, AllowNanGoesOnToTheLastStep) {
  SplitOptions o = options("host:2", "1f1b", 4);
  o.steps = 30;
  o.learning_rate = 1e6;
  o.allow_nan = true;
  SplitResult const result = train(o, mlp());
  EXPECT_EQ(result.failure, std::nullopt);
  ASSERT_EQ(result.loss.size(), 30U);
  EXPECT_FALSE(std::isfinite(result.loss.back()));
}

TEST_F(Split, ResumedTrainingEqualsAnUninterruptedOneOnOtherStagesToo) {
  TemporaryFolder const folder;
  for (LayeredNetwork const& network : {mlp(), cnn()}) {
    SplitOptions o = options("host:2", "1f1b", 4);
    SplitResult const whole = train(o, network);

    o.steps = 3;
    o.checkpoint = folder.file("c");
    train(o, network);

    o.checkpoint.clear();
    o.resume = folder.file("c");
    o.steps = 5;
    SplitResult const resumed = train(o, network);
    EXPECT_EQ(resumed.first_step, 3);
    EXPECT_EQ(resumed.loss.size(), 2U);
    EXPECT_EQ(resumed.weights, whole.weights) << network.name;

    o.device = "host:3";
    o.schedule = "gpipe";
    EXPECT_EQ(train(o, network).weights, whole.weights) << network.name;
    o.tensor = true;
    o.device = "host:2";
    EXPECT_LT(relative_difference(train(o, network).weights, whole.weights), 1e-5) << network.name;
  }
}

TEST_F(Split, PeriodicCheckpointIsTheStateAfterItsStep) {
  TemporaryFolder const folder;
  SplitOptions o = options("host:2", "gpipe", 2);
  o.steps = 3;
  o.checkpoint = folder.file("at the end");
  train(o, mlp());

  o.steps = 5;
  o.checkpoint = folder.file("every");
  o.checkpoint_every = 3;
  o.pathologies.clear();
  train(o, mlp());

  // Overwritten by that of the end: a training from it has nothing to do.
  o.resume = folder.file("every");
  o.checkpoint.clear();
  o.checkpoint_every = 0;
  EXPECT_THAT(train_split(o, mlp(), data(), nullptr).error().message,
              HasSubstr("already at step 5"));

  o.resume = folder.file("at the end");
  o.batch = 12;
  EXPECT_THAT(train_split(o, mlp(), data(), nullptr).error().message,
              HasSubstr("24 images a step"));
  o.batch = 24;
  EXPECT_THAT(train_split(o, cnn(), data(), nullptr).error().message, HasSubstr("mlp-3x24"));

  o.resume.clear();
  o.checkpoint = "/nonexistent/c";
  EXPECT_THAT(train(o, mlp()).failure.value_or(""), HasSubstr("/nonexistent"));
}

TEST_F(Split, EvaluationCountsEachTestImageOnceWhateverTheStages) {
  // 50 images: the last batch of 24 is not full.
  for (LayeredNetwork const& network : {mlp(), cnn()}) {
    SplitOptions o = options("host:1", "gpipe", 1);
    o.evaluate = true;
    o.steps = 2;
    double const one = train(o, network).test_accuracy.value();
    EXPECT_NEAR(one * 50, std::round(one * 50), 1e-9);

    for (auto const& [device, schedule, tensor] :
         {std::tuple{"host:2", "gpipe", false}, std::tuple{"host:3", "1f1b", false},
          std::tuple{"host:2", "gpipe", true}}) {
      SplitOptions p = options(device, schedule, 6);
      p.evaluate = true;
      p.steps = 2;
      p.tensor = tensor;
      EXPECT_NEAR(train(p, network).test_accuracy.value(), one, 0.021)
          << network.name << " " << device;
    }
  }
}

// --tensor.

class SplitTensor : public Split {
 protected:
  static SplitOptions options(std::string const& device, int64_t micro_batches) {
    SplitOptions o = Split::options(device, "gpipe", micro_batches);
    o.tensor = true;
    return o;
  }
};

TEST_F(SplitTensor, TrainsToTheWeightsOfTheWholeNetwork) {
  for (LayeredNetwork const& network : {mlp(), cnn()}) {
    SplitResult const whole = train(Split::options("host:1", "gpipe", 1), network);

    for (auto const& [device, micro_batches] :
         {std::pair{"host:1", 1}, std::pair{"host:2", 1}, std::pair{"host:2", 4},
          std::pair{"host:3", 2}, std::pair{"host:4", 1}}) {
      SplitResult const cut = train(options(device, micro_batches), network);
      EXPECT_LT(relative_difference(whole.weights, cut.weights), 1e-5)
          << network.name << " " << device << " " << micro_batches;
      EXPECT_NEAR(cut.loss.back(), whole.loss.back(), 1e-4) << network.name << " " << device;
    }
  }
}

TEST_F(SplitTensor, PairsOfFullyConnectedLayersAreCutFirstByOutputsThenByInputs) {
  using Cuts = LayerDescription::Cut;
  EXPECT_THAT(train(options("host:2", 1), mlp()).layer_cuts,
              ::testing::ElementsAre(Cuts::kOutputs, Cuts::kInputs, Cuts::kOutputs, Cuts::kInputs));

  SplitResult const result = train(options("host:2", 1), cnn());
  EXPECT_THAT(std::vector(result.layer_cuts.end() - 3, result.layer_cuts.end()),
              ::testing::ElementsAre(Cuts::kOutputs, Cuts::kInputs, Cuts::kNone));
  EXPECT_THAT(std::vector(result.layer_cuts.begin(), result.layer_cuts.end() - 3),
              Each(Cuts::kNone));

  SplitResult const whole = train(options("host:1", 1), mlp());
  EXPECT_THAT(whole.layer_cuts, Each(Cuts::kNone));
}

TEST_F(SplitTensor, EachDeviceHoldsItsPartOfTheWeights) {
  LayeredNetwork const network =
      describe_mlp(static_cast<int64_t>(kCropFloats) / 2, kCifarClasses, {4, 48});
  uint64_t const whole = train(options("host:1", 1), network).weight_bytes.front();
  SplitResult const halves = train(options("host:2", 1), network);
  ASSERT_EQ(halves.weight_bytes.size(), 2U);
  // Four layers of width 48 are halved; the classes' 490 weights and some biases are not.
  for (uint64_t const bytes : halves.weight_bytes) EXPECT_LT(bytes, whole / 2 + 4096);
}

TEST_F(SplitTensor, BadOptionsAreErrorsThatSayWhatToDo) {
  auto const error_of = [](SplitOptions const& o) {
    auto const result = train_split(o, mlp(), data(), nullptr);
    return result ? std::string("none") : result.error().message;
  };

  EXPECT_THAT(error_of(options("host:5", 1)),
              AllOf(HasSubstr("fc1"), HasSubstr("24 outputs"), HasSubstr("5 devices")));

  SplitOptions o = options("host:2", 1);
  o.pathologies.push_back(parse_fault_injection("imbalanced-split=2").value());
  EXPECT_THAT(error_of(o), AllOf(HasSubstr("imbalanced-split"), HasSubstr("--tensor")));

  EXPECT_THAT(error_of(options("host:2", 7)), AllOf(HasSubstr("--batch 24"), HasSubstr("7")));
  SplitOptions every = options("host:2", 1);
  every.checkpoint_every = 2;
  EXPECT_THAT(error_of(every), HasSubstr("--checkpoint FILE"));
}

}  // namespace
}  // namespace stepscope::workloads
