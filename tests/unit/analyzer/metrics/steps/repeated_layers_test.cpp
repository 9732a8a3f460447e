// Repetition in a run without marks that host ranges identify as layers, not steps.
#include "analyzer/metrics/steps/repeated_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/layer_names.h"
#include "analyzer/results/analysis.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using KernelNames = std::vector<std::string>;

TEST(LayerNames, ComeFromModulesRangesAndHooks) {
  auto const first = [](std::string_view name) {
    auto const layers = layer_names(name);
    return layers.empty() ? std::pair<std::string, std::vector<int64_t>>()
                          : std::pair(layers[0].stem, layers[0].numbers);
  };

  using Layer = std::pair<std::string, std::vector<int64_t>>;
  EXPECT_EQ(first("FSDP::pre_forward (blocks.9._checkpoint_wrapped_module), op_id = 993930"),
            Layer("blocks.N", {9}));
  EXPECT_EQ(first("transformer.h.3"), Layer("transformer.h.N", {3}));
  EXPECT_EQ(first("encoder.layer.11"), Layer("encoder.layer.N", {11}));
  EXPECT_EQ(first("nn.Module: Block_3"), Layer("Block_N", {3}));
  EXPECT_EQ(first("nn.Module: LlamaDecoderLayer_0"), Layer("LlamaDecoderLayer_N", {0}));
  EXPECT_EQ(first("Layer 12"), Layer("Layer_N", {12}));
  EXPECT_EQ(first("stage 2"), Layer("stage_N", {2}));
  EXPECT_EQ(first("layer12_fwd"), Layer("layer_N", {12}));

  auto const nested = layer_names("stages.1.blocks.3");
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[1].numbers, (std::vector<int64_t>{1, 3}));

  for (std::string_view const name :
       {"", "aten::mm", "step 3", "batch 7", "oh.3", "Linear_3", "layer", "layers.99999999", "3"})
    EXPECT_THAT(layer_names(name), IsEmpty()) << name;
}

/// A range that launches these kernels of 100 ns, after a copy of weights to the device on request.
class LayeredProgram {
 public:
  void add(std::string const& range, KernelNames const& kernels, bool copies_weights = false) {
    int64_t const begin = at_;
    if (copies_weights)
      builder_.events(stream_).add(
          model::EventKind::kMemcpy, at_ + 50, 100, builder_.intern("Memcpy HtoD"), 0,
          model::CopyDetail{.bytes = 1 << 20, .direction = model::CopyDirection::kHostToDevice});
    if (copies_weights) at_ += 100;

    for (std::string const& kernel : kernels) {
      builder_.events(thread_).add(model::EventKind::kLaunch, at_ + 1, 2,
                                   builder_.intern("cudaLaunchKernel"), ++launches_);
      builder_.events(stream_).add(model::EventKind::kKernel, at_ + 50, 100,
                                   builder_.intern(kernel), launches_, model::KernelDetail{});
      at_ += 100;
    }

    if (!range.empty())
      builder_.events(thread_).add_range(begin, at_ - begin, builder_.intern(range));
  }
  Analysis analyze() && {
    model::Run run;
    run.ranks.push_back({std::move(builder_).finish(), 0, ""});
    return analyzer::analyze(run);
  }

 private:
  model::TraceBuilder builder_;
  model::TrackId thread_ = builder_.add_track(
      {model::TrackKind::kThread, "main", 1, -1, model::StreamKind::kCompute, 0});
  model::TrackId stream_ = builder_.add_track(
      {model::TrackKind::kStream, "stream", 7, 0, model::StreamKind::kCompute, 0});
  uint64_t launches_ = 0;
  int64_t at_ = 1000;
};

KernelNames const kKernelsOfLayer = {"norm", "gemm", "softmax", "gemm"};

TEST(RepeatedLayers, AreNoSteps) {
  LayeredProgram program;
  for (int i = 3; i < 20; ++i)
    program.add("FSDP::pre_forward (blocks." + std::to_string(i) + ")", kKernelsOfLayer, true);

  Analysis const analysis = std::move(program).analyze();
  EXPECT_EQ(analysis.step_source, StepSource::kNone);
  EXPECT_THAT(analysis.steps, IsEmpty());

  ASSERT_TRUE(analysis.layers);
  EXPECT_EQ(analysis.layers->name, "blocks.N");
  EXPECT_EQ(analysis.layers->first, "3");
  EXPECT_EQ(analysis.layers->period_ns, 500);
}

TEST(RepeatedLayers, InAModelOfStagesCountWithinThem) {
  LayeredProgram program;
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < 5; ++block)
      program.add("stages." + std::to_string(stage) + ".blocks." + std::to_string(block),
                  kKernelsOfLayer);

  Analysis const analysis = std::move(program).analyze();
  EXPECT_THAT(analysis.steps, IsEmpty());
  ASSERT_TRUE(analysis.layers);
  EXPECT_EQ(analysis.layers->name, "stages.N.blocks.N");
  EXPECT_EQ(analysis.layers->last, "3.4");
}

TEST(RepeatedLayers, AStepIsFromWhereTheirNumbersBeginAgain) {
  LayeredProgram program;
  for (int step = 0; step < 4; ++step)
    for (int i = 0; i < 8; ++i)
      program.add("nn.Module: Block_" + std::to_string(i), kKernelsOfLayer);
  Analysis const analysis = std::move(program).analyze();
  EXPECT_EQ(analysis.step_source, StepSource::kDetected);
  EXPECT_FALSE(analysis.layers);
  ASSERT_EQ(analysis.steps.size(), 4U);
  EXPECT_EQ(analysis.steps[1].host_window.begin - analysis.steps[0].host_window.begin, 8 * 400);
}

TEST(RepeatedLayers, StepsStayStepsWhateverLayersTheyHold) {
  LayeredProgram program;
  for (int step = 0; step < 6; ++step) {
    program.add("", {"embed"});
    for (int i = 0; i < 3; ++i) program.add("layers." + std::to_string(i), kKernelsOfLayer);
    program.add("", {"loss", "FusedAdam"});
  }

  Analysis const analysis = std::move(program).analyze();
  EXPECT_EQ(analysis.step_source, StepSource::kDetected);
  EXPECT_GE(analysis.steps.size(), 5U);
  EXPECT_FALSE(analysis.layers);
}

TEST(RepeatedLayers, NumbersThatOnlyCountOtherThingsAreNoLayers) {
  LayeredProgram program;
  for (int i = 0; i < 16; ++i) program.add("request " + std::to_string(i), kKernelsOfLayer);
  Analysis const analysis = std::move(program).analyze();
  EXPECT_FALSE(analysis.layers);
  EXPECT_EQ(analysis.step_source, StepSource::kDetected);
}

TEST(RepeatedLayers, CopiesOfWeightsAreNoSignOfAStep) {
  LayeredProgram program;
  program.add("", {"embed", "patches"});
  for (int i = 0; i < 16; ++i) program.add("", kKernelsOfLayer, true);
  program.add("", {"head", "argmax"});
  EXPECT_EQ(std::move(program).analyze().step_source, StepSource::kNone);
}

}  // namespace
}  // namespace stepscope::analyzer
