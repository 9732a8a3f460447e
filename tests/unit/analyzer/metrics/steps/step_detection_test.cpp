// Detection of unmarked steps in sequences of kernels whose period is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "tests/support/sanitized.h"
#include "tests/support/synthetic_run.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;
using Kernels = std::vector<std::string>;

constexpr int64_t kKernelNs = 100;

Kernels operator+(Kernels a, Kernels const& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Kernels operator*(size_t times, Kernels const& kernels) {
  Kernels result;
  for (size_t i = 0; i < times; ++i) result = result + kernels;
  return result;
}

/// Kernels of 100 ns, one after the other; the name "copy" stands for a copy of the batch to the
/// device, "pause" for idle time.
void add_device(TraceBuilder& builder, int32_t device, Kernels const& kernels) {
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "stream", 7, device, StreamKind::kCompute, 0});

  int64_t at = 1000;
  for (std::string const& name : kernels) {
    if (name == "copy")
      builder.events(stream).add(EventKind::kMemcpy, at, kKernelNs, builder.intern(name), 0,
                                 CopyDetail{.bytes = 1, .direction = CopyDirection::kHostToDevice});
    else if (name != "pause")
      builder.events(stream).add(EventKind::kKernel, at, kKernelNs, builder.intern(name), 0,
                                 KernelDetail{});
    at += kKernelNs;
  }
}

model::Run run_of_kernels(std::vector<Kernels> const& ranks) {
  model::Run run;
  for (Kernels const& kernels : ranks) {
    TraceBuilder builder;
    builder.info().rank = static_cast<int32_t>(run.ranks.size());
    add_device(builder, 0, kernels);
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }
  return run;
}

HostSteps detect(model::Run const& run) {
  HostSteps steps = find_host_steps(run);
  detect_steps(index_devices(run), steps);
  return steps;
}
HostSteps detect(Kernels const& kernels) { return detect(run_of_kernels({kernels})); }

/// Begins of the steps of the first device, as places counted in kernels, copies and pauses.
std::vector<int64_t> begins(HostSteps const& steps) {
  std::vector<int64_t> result;
  for (HostStep const& step : steps.detected.at(0).steps)
    result.push_back((step.when.begin - 1000) / kKernelNs);
  return result;
}

Kernels layers(size_t count) { return count * Kernels{"gemm", "softmax", "gemm", "norm"}; }
Kernels training_step() {
  return Kernels{"copy", "embed"} + layers(6) + Kernels{"loss"} +
         6 * Kernels{"d_norm", "d_gemm", "d_gemm", "d_softmax"} + 8 * Kernels{"mul", "add"};
}

TEST(StepDetection, AStepIsFromBatchToBatchWhateverRepeatsWithinIt) {
  auto const length = static_cast<int64_t>(training_step().size());
  HostSteps const steps = detect(5 * (Kernels{"pause"} + training_step()));
  EXPECT_EQ(steps.source, StepSource::kDetected);
  EXPECT_EQ(steps.confidence, 1.0);
  // A step begins with the copy before its first kernel. The first step begins without it, as
  // weights are copied before.
  EXPECT_THAT(begins(steps),
              testing::ElementsAre(2, length + 2, 2 * length + 3, 3 * length + 4, 4 * length + 5));
}

TEST(StepDetection, NeedsThreeOfThem) {
  EXPECT_EQ(detect(3 * training_step()).source, StepSource::kDetected);
  EXPECT_EQ(detect(2 * training_step()).source, StepSource::kNone);
}

TEST(StepDetection, FindsNoneInWhatDoesNotRepeat) {
  EXPECT_EQ(detect(Kernels{}).source, StepSource::kNone);
  EXPECT_EQ(detect(training_step()).source, StepSource::kNone);
  EXPECT_EQ(detect(100 * Kernels{"gemm"}).source, StepSource::kNone);
  EXPECT_EQ(detect(100 * Kernels{"copy", "gemm", "add", "norm"}).source, StepSource::kNone)
      << "too short for training";
  EXPECT_EQ(detect(100 * Kernels{"copy", "gemm", "add", "norm", "sum"}).source,
            StepSource::kDetected);

  std::mt19937 random(1);
  Kernels noise;
  for (int i = 0; i < 2000; ++i) noise.push_back("kernel " + std::to_string(random() % 40));
  EXPECT_EQ(detect(noise).source, StepSource::kNone);
}

TEST(StepDetection, TheLayersOfASingleStepAreNoSteps) {
  EXPECT_EQ(detect(Kernels{"copy", "patches"} + layers(30) + Kernels{"head", "argmax"}).source,
            StepSource::kNone);
  // A loop that the recording cut is detected: nothing else lies before its first whole step and
  // after its last.
  EXPECT_EQ(detect(Kernels{"softmax", "gemm", "norm"} +
                   30 * Kernels{"embed", "gemm", "softmax", "gemm", "norm"})
                .source,
            StepSource::kDetected);
}

TEST(StepDetection, MicroBatchesAreNoStepsWhereWeightsAreUpdatedAfterSeveral) {
  Kernels const micro_batch =
      Kernels{"copy", "embed"} + layers(3) + Kernels{"loss", "d_gemm", "d_norm", "accumulate"};
  auto const length = static_cast<int64_t>(8 * micro_batch.size());
  HostSteps const fused = detect(4 * (8 * micro_batch + Kernels{"FusedAdam"}));
  EXPECT_THAT(begins(fused), testing::ElementsAre(1, length + 1, 2 * length + 2, 3 * length + 3));
  // The names say nothing, but the kernels are a part of the work.
  HostSteps const unknown = detect(4 * (8 * micro_batch + 3 * Kernels{"mul", "add"}));
  EXPECT_EQ(unknown.detected.at(0).steps.size(), 4U);
}

TEST(StepDetection, AGansTwoUpdatesAreOneStep) {
  Kernels const discriminator =
      Kernels{"copy", "conv", "conv", "relu", "loss", "d_conv", "d_conv", "adam"};
  Kernels const generator =
      Kernels{"fc", "tanh", "conv", "conv", "relu", "loss", "d_conv", "d_conv", "d_fc", "adam"};
  EXPECT_EQ(detect(9 * (discriminator + generator)).detected.at(0).steps.size(), 9U);
}

TEST(StepDetection, WhatFollowsEveryTenthStepMakesNoStepOfTen) {
  HostSteps const logging = detect(6 * (10 * training_step() + Kernels{"metric"}));
  EXPECT_EQ(logging.detected.at(0).steps.size(), 60U);
  EXPECT_LT(*logging.confidence, 0.95);

  HostSteps const evaluating =
      detect(4 * (10 * training_step() + 5 * (Kernels{"embed"} + layers(6))));
  EXPECT_EQ(evaluating.detected.at(0).steps.size(), 40U);
  EXPECT_GT(*evaluating.confidence, 0.6);

  // The evaluation has kernels that training lacks. The training step updates weights; an
  // evaluation does so no more often.
  Kernels const updating = training_step() + Kernels{"adam", "adam"};
  EXPECT_EQ(detect(4 * (10 * updating + 20 * Kernels{"embed", "fused", "argmax"}))
                .detected.at(0)
                .steps.size(),
            40U);
}

TEST(StepDetection, WarmUpAndEndAreInNoStep) {
  Kernels warm_up;
  for (int i = 0; i < 60; ++i) warm_up.push_back("tune " + std::to_string(i % 7));
  model::Run const run = run_of_kernels(
      {warm_up + 10 * training_step() + Kernels{"copy", "embed", "gemm", "softmax"}});

  HostSteps const steps = detect(run);
  ASSERT_EQ(steps.source, StepSource::kDetected);
  DeviceSteps const assigned = assign_steps(index_devices(run).at(0), steps, 1);

  // The begin of the first step cannot be distinguished from the end of the warm-up.
  EXPECT_EQ(assigned.steps.size(), 9U);
  auto const kernels = static_cast<double>(training_step().size() - 1);
  EXPECT_DOUBLE_EQ(*steps.confidence, 9 * kernels / (63 + 10 * kernels));
}

TEST(StepDetection, NeedsToExplainMostOfTheRun) {
  auto const detected = [](size_t others) {
    Kernels noise;
    std::mt19937 random(3);
    for (size_t i = 0; i < others; ++i) noise.push_back("other " + std::to_string(random() % 1000));
    return detect(noise + 10 * training_step()).source == StepSource::kDetected;
  };
  // Detection finds 9 of the 10 steps; each has this many kernels.
  size_t const kernels = training_step().size() - 1, most = kernels * 9 * 10 / 6 - kernels * 10;
  EXPECT_TRUE(detected(most - 5));
  EXPECT_FALSE(detected(most + 5));
}

TEST(StepDetection, RanksFindTheSameBeginWhereverTheirRecordingBegins) {
  Kernels const all = 12 * training_step();
  std::vector<Kernels> ranks;
  for (ptrdiff_t const skipped : {0, 3, 17, 40})
    ranks.emplace_back(all.begin() + skipped, all.end());

  model::Run const run = run_of_kernels(ranks);
  HostSteps const steps = detect(run);
  ASSERT_EQ(steps.detected.size(), 4U);

  for (size_t r = 0; r < run.ranks.size(); ++r) {
    Trace const& trace = run.ranks[r].trace;
    std::set<std::string_view> first;
    for (HostStep const& step : steps.detected[r].steps)
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (trace.start(row) == step.when.begin && trace.kind(row) == EventKind::kKernel &&
            step.index > 0)
          first.insert(trace.name(row));
    EXPECT_LE(first.size(), 1U) << "rank " << r;

    // A recording that begins within a step lacks that step only.
    EXPECT_GE(steps.detected[r].steps.size(), 11U) << "rank " << r;
    EXPECT_EQ(
        steps.detected[r].steps.back().when.end - steps.detected[r].steps[1].when.begin,
        steps.detected[1].steps.back().when.end - steps.detected[1].steps[1].when.begin +
            static_cast<int64_t>(steps.detected[r].steps.size() - steps.detected[1].steps.size()) *
                static_cast<int64_t>(training_step().size()) * kKernelNs);
  }
}

TEST(StepDetection, RanksAgreeThoughOneHasOtherKernelsAndWaitsElsewhere) {
  auto const step = [](bool is_odd) {
    Kernels const forward = Kernels{"copy", "embed"} + layers(3),
                  backward = {"loss", "d_gemm", is_odd ? "gemm_split" : "gemm", "add"};
    return is_odd ? forward + Kernels{"pause"} + backward : Kernels{"pause"} + forward + backward;
  };

  model::Run const run = run_of_kernels({10 * step(true), 10 * step(false), 10 * step(false)});
  HostSteps const steps = detect(run);
  ASSERT_EQ(steps.detected.size(), 3U);

  for (size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(steps.detected[r].steps.size(), 10U) << "rank " << r;
    for (size_t i = 1; i < 10; ++i)  // with the copy of the batch
      EXPECT_EQ((steps.detected[r].steps[i].when.begin - 1000) / kKernelNs % 19, r == 0 ? 0 : 1)
          << "rank " << r << ", step " << i;
  }
}

TEST(StepDetection, StagesOfAPipelineHaveStepsOfTheirOwn) {
  Kernels const first = Kernels{"copy", "embed"} + layers(4) + Kernels{"d_embed", "adam"};
  Kernels const last = layers(4) + Kernels{"loss", "d_loss", "d_gemm", "adam"};
  HostSteps const steps = detect(run_of_kernels({6 * first, 6 * last}));
  ASSERT_EQ(steps.detected.size(), 2U);
  EXPECT_EQ(steps.detected[0].steps.size(), 6U);
  EXPECT_EQ(steps.detected[1].steps.size(), 6U);
}

TEST(StepDetection, RandomStepsWithNoiseAreFoundAsTheyWereMade) {
  uint32_t const runs = support::kSanitized ? 60 : 400;
  for (uint32_t seed = 0; seed < runs; ++seed) {
    std::mt19937 random(seed);
    auto const pick = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
    auto const piece = [&](std::string const& prefix, size_t kinds, size_t length) {
      Kernels result;
      for (size_t i = 0; i < length; ++i) result.push_back(prefix + std::to_string(pick(1, kinds)));
      return result;
    };

    // Input, equal layers, other kernels for the backward pass, and an update with kernels of
    // several names.
    Kernels step = Kernels{"copy"} + piece("in", 3, pick(1, 4)) +
                   pick(1, 12) * piece("layer", 4, pick(2, 6)) + piece("loss", 2, pick(1, 3)) +
                   pick(1, 12) * piece("back", 4, pick(2, 6)) + piece("adam", 2, pick(1, 6));

    size_t const count = pick(8, 20), odd = pick(0, count / 5);
    std::vector<bool> is_odd(count, false);
    for (size_t i = 0; i < odd; ++i) is_odd[pick(2, count - 1)] = true;

    Kernels all = piece("init", 9, pick(0, step.size()));
    for (size_t i = 0; i < count; ++i)
      all = all + step + (is_odd[i] ? piece("odd", 5, pick(1, 9)) : Kernels{});

    HostSteps const steps = detect(all);
    ASSERT_EQ(steps.source, StepSource::kDetected) << "seed " << seed;

    // Detection may miss the first step, which begins behind similar kernels, and the last.
    size_t const found = steps.detected.at(0).steps.size();
    ASSERT_GE(found, count - 1 - (is_odd[count - 1] ? 1 : 0)) << "seed " << seed;
    ASSERT_LE(found, count) << "seed " << seed;

    size_t steady = 0;
    for (HostStep const& s : steps.detected[0].steps)
      steady += s.when.end - s.when.begin == static_cast<int64_t>(step.size()) * kKernelNs ? 1 : 0;
    ASSERT_GE(steady + odd + 2, count) << "seed " << seed;
  }
}

TEST(StepDetection, OpsGoToTheStepInWhichTheyBegin) {
  model::Run const run = run_of_kernels({4 * training_step()});
  Analysis const analysis = analyze(run);
  EXPECT_EQ(analysis.step_source, StepSource::kDetected);
  EXPECT_EQ(analysis.step_confidence, 1.0);
  ASSERT_EQ(analysis.steps.size(), 4U);
  EXPECT_EQ(analysis.ops_outside_steps, 1U) << "what is copied before the first kernel";

  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(analysis.steps[i].step, static_cast<int64_t>(i));
    EXPECT_EQ(analysis.steps[i].window.begin, analysis.steps[i - 1].window.end);
    EXPECT_EQ(analysis.steps[i].time.window_ns,
              static_cast<int64_t>(training_step().size()) * kKernelNs);
    EXPECT_EQ(analysis.steps[i].time.copy_ns, kKernelNs);
  }
}

TEST(StepDetection, AnUnmarkedRunHasTheStepsOfTheMarkedOne) {
  for (bool const process_per_device : {false, true}) {
    for (bool const syncs : {false, true}) {
      support::SyntheticOptions options;
      options.steps = 12;
      options.process_per_device = process_per_device;
      options.sync_each_step = syncs;

      Analysis const marked = analyze(support::make_synthetic_run(options));
      options.marks = support::StepMarks::kNone;
      Analysis const detected = analyze(support::make_synthetic_run(options));

      EXPECT_EQ(detected.step_source, StepSource::kDetected);
      ASSERT_EQ(detected.steps.size(), marked.steps.size());
      for (size_t i = 0; i < marked.steps.size(); ++i) {
        EXPECT_EQ(detected.steps[i].ref, marked.steps[i].ref);
        EXPECT_EQ(detected.steps[i].step, marked.steps[i].step);
        // A detected step begins with its first op, a marked one on the host; both end with the
        // last op.
        EXPECT_EQ(detected.steps[i].window.end, marked.steps[i].window.end);
        EXPECT_GE(detected.steps[i].window.begin, marked.steps[i].window.begin);
        EXPECT_EQ(detected.steps[i].warmup, marked.steps[i].warmup);
      }
    }
  }
}

TEST(StepDetection, ChangesNothingWhereStepsAreMarked) {
  support::SyntheticOptions options;
  Analysis const analysis = analyze(support::make_synthetic_run(options));
  EXPECT_EQ(analysis.step_source, StepSource::kAnnotation);
  EXPECT_FALSE(analysis.step_confidence);
}

}  // namespace
}  // namespace stepscope::analyzer
