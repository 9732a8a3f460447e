// A run that is asked several questions: the answers of what_if(), and predicted timelines that fit
// them.
#include "analyzer/whatif/replay_session.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/whatif/whatif.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/random_training.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using testing_support::RandomTraining;

/// A run in memory with its session, which looks at both others.
struct OpenedRun {
  explicit OpenedRun(model::Run made)
      : run(std::move(made)), analysis(analyze(run)), session(open_replay(run, analysis)) {}

  model::Run const run;
  Analysis const analysis;
  std::unique_ptr<ReplaySession const> const session;
};

model::Run slow_input() {
  return support::make_synthetic_run({.devices = 2,
                                      .steps = 12,
                                      .process_per_device = true,
                                      .input_delay_ns = 8'000'000,
                                      .rank_clock_offset_ns = 3'000'000});
}

std::vector<WhatIfChange> changes_of(std::string const& text) {
  auto changes = parse_changes(text);
  EXPECT_TRUE(changes) << text;
  return changes ? std::move(*changes) : std::vector<WhatIfChange>();
}

bool is_stream(PredictedTrack const& track) {
  return track.rank->trace.tracks()[track.track].kind == model::TrackKind::kStream;
}

void expect_disjoint(PredictedTrack const& track) {
  for (size_t i = 0; i < track.size(); ++i) {
    ASSERT_LE(track.begin[i], track.end[i]);
    ASSERT_GE(track.begin[i], i > 0 ? track.end[i - 1] : INT64_MIN) << "event " << i;
  }
}

TEST(ReplaySession, PredictsTheRecordingWhereNothingIsChanged) {
  OpenedRun const opened(slow_input());
  WhatIfPrediction const prediction = opened.session->predict({});
  ASSERT_FALSE(prediction.answer.is_refused) << prediction.answer.reason;
  EXPECT_DOUBLE_EQ(prediction.answer.step_ns, opened.session->baseline().step_ns);
  EXPECT_EQ(prediction.answer.gain, 0);

  size_t ops = 0;
  for (PredictedTrack const& track : prediction.timeline.tracks) {
    for (size_t i = 0; i < track.size(); ++i) {
      ASSERT_EQ(track.begin[i], track.recorded(i).begin) << "row " << track.rows[i];
      ASSERT_EQ(track.end[i], track.recorded(i).end) << "row " << track.rows[i];
    }
    if (is_stream(track)) ops += track.size();
  }
  for (PredictedStep const& step : prediction.timeline.steps)
    EXPECT_TRUE(!step.is_measured || step.predicted == step.recorded) << "step " << step.step;

  size_t recorded = 0;
  for (DeviceOps const& device : opened.session->part().devices) recorded += device.ops.size();
  EXPECT_EQ(ops, recorded);
}

TEST(ReplaySession, PredictsTheRecordingOfRandomTrainings) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    OpenedRun const opened(RandomTraining(seed).make(6));
    WhatIfPrediction const prediction = opened.session->predict({});

    for (PredictedTrack const& track : prediction.timeline.tracks)
      for (size_t i = 0; i < track.size(); ++i) {
        ASSERT_EQ(track.begin[i], track.recorded(i).begin);
        ASSERT_EQ(track.end[i], track.recorded(i).end);
      }
  }
}

/// The mean length of the measured steps, as the answer has it.
double mean_step_ns(PredictedTimeline const& timeline) {
  double sum = 0, count = 0;
  for (PredictedStep const& step : timeline.steps) {
    if (!step.is_measured) continue;
    sum += static_cast<double>(step.predicted.length());
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// The last end of the device's predicted ops.
int64_t last_end(WhatIfPrediction const& prediction, DeviceRef ref) {
  int64_t last = INT64_MIN;
  for (PredictedTrack const& track : prediction.timeline.tracks) {
    model::Track const& of = track.rank->trace.tracks()[track.track];
    bool const is_of_device = of.kind == model::TrackKind::kStream && of.device == ref.device &&
                              static_cast<int32_t>(track.process) == ref.rank_index;
    if (is_of_device && track.size() > 0)
      last = std::max(last, *std::max_element(track.end.begin(), track.end.end()));
  }
  return last;
}

TEST(ReplaySession, StepsOfATimelineAreAsLongAsTheAnswerSays) {
  OpenedRun const opened(slow_input());
  for (std::string const text : {"input=0", "class:compute=/2", "input=0 comm:bandwidth=*2",
                                 "overlap", "straggler=median", "imbalance=mean", "bucket=25MiB"}) {
    WhatIfPrediction const prediction = opened.session->predict(changes_of(text));
    ASSERT_FALSE(prediction.answer.is_refused) << text << ": " << prediction.answer.reason;
    EXPECT_NEAR(mean_step_ns(prediction.timeline), prediction.answer.step_ns, 1) << text;
  }
}

TEST(ReplaySession, OpsEndWhereTheLastStepOfTheirDeviceEnds) {
  OpenedRun const opened(slow_input());
  WhatIfPrediction const prediction = opened.session->predict(changes_of("input=0"));
  EXPECT_GT(prediction.answer.gain, 0.2);

  std::map<DeviceRef, int64_t> end_of;
  for (PredictedStep const& step : prediction.timeline.steps)
    end_of[step.ref] = std::max(end_of[step.ref], step.predicted.end);
  ASSERT_EQ(end_of.size(), 2U);
  for (auto const& [ref, end] : end_of) EXPECT_EQ(last_end(prediction, ref), end);
}

TEST(ReplaySession, BeginsTheFirstMeasuredStepWhereItWasRecorded) {
  OpenedRun const opened(slow_input());
  PredictedTimeline const timeline = opened.session->predict(changes_of("input=0")).timeline;
  ASSERT_LT(timeline.aligned_step, timeline.steps.size());

  PredictedStep const& aligned = timeline.steps[timeline.aligned_step];
  EXPECT_TRUE(aligned.is_measured);
  EXPECT_EQ(aligned.predicted.begin, aligned.recorded.begin);
  for (PredictedStep const& step : timeline.steps)
    EXPECT_TRUE(!step.is_measured || aligned.recorded.begin <= step.recorded.begin);
  EXPECT_LT(timeline.steps.back().predicted.end, timeline.steps.back().recorded.end);
}

TEST(ReplaySession, PredictedEventsOfATrackNeverOverlap) {
  std::vector<model::Run> runs;
  runs.push_back(slow_input());
  runs.push_back(support::make_synthetic_run({.devices = 3, .steps = 6, .overlap = false}));
  runs.push_back(support::make_synthetic_run(
      {.devices = 3, .steps = 6, .process_per_device = true, .straggler_device = 1}));

  for (model::Run& run : runs) {
    OpenedRun const opened(std::move(run));
    for (std::string const text :
         {"input=0", "class:compute=/2", "class:communication=0", "overlap", "imbalance=mean",
          "bucket=25MiB", "copies=0", "straggler=median comm:bandwidth=*2"}) {
      WhatIfPrediction const prediction = opened.session->predict(changes_of(text));
      if (prediction.answer.is_refused) continue;
      SCOPED_TRACE(text);
      for (PredictedTrack const& track : prediction.timeline.tracks) expect_disjoint(track);
    }
  }
}

TEST(ReplaySession, GivesTheAnswersOfWhatIf) {
  OpenedRun const opened(slow_input());
  auto const changes = changes_of("input=0 class:compute=/2");
  WhatIfStats const stats = what_if(opened.run, opened.analysis, {{changes}, true});

  for (WhatIfAnswer const& answer :
       {opened.session->answer(changes), opened.session->predict(changes).answer}) {
    EXPECT_EQ(answer.change, "input=0 + class:compute=/2");
    EXPECT_EQ(answer.step_ns, stats.answers[0].step_ns);
    EXPECT_EQ(answer.low_ns, stats.answers[0].low_ns);
    EXPECT_EQ(answer.high_ns, stats.answers[0].high_ns);
    EXPECT_EQ(answer.gain, stats.answers[0].gain);
    EXPECT_EQ(answer.path, stats.answers[0].path);
    EXPECT_EQ(answer.next, stats.answers[0].next);
  }

  std::vector<WhatIfFix> const fixes = find_fixes(*opened.session);
  ASSERT_EQ(fixes.size(), stats.fixes.size());
  ASSERT_FALSE(fixes.empty());
  EXPECT_EQ(fixes[0].alone.step_ns, stats.fixes[0].alone.step_ns);
  EXPECT_THAT(fixes[0].changes, testing::ElementsAre("input=0"));
}

TEST(ReplaySession, ARefusedAnswerHasNoTimeline) {
  OpenedRun const opened(slow_input());
  WhatIfPrediction const unknown = opened.session->predict(changes_of("kernel:no_such=/2"));
  EXPECT_EQ(unknown.answer.is_refused, unknown.timeline.tracks.empty());

  OpenedRun const empty{model::Run()};
  EXPECT_TRUE(empty.session->baseline().is_refused);
  WhatIfPrediction const nothing = empty.session->predict(changes_of("input=0"));
  EXPECT_TRUE(nothing.answer.is_refused);
  EXPECT_FALSE(nothing.answer.reason.empty());
  EXPECT_TRUE(nothing.timeline.tracks.empty());
  EXPECT_TRUE(find_fixes(*empty.session).empty());
}

TEST(ReplaySession, SaysWhatAStepIsWhereNoneWasRecorded) {
  model::TraceBuilder builder;
  model::TrackId const stream = builder.add_track(
      {model::TrackKind::kStream, "stream", 7, 0, model::StreamKind::kCompute, 0});
  for (int64_t i = 0; i < 4; ++i)
    builder.events(stream).add(model::EventKind::kKernel, i * 1'000, 600, builder.intern("gemm"), 0,
                               model::KernelDetail{});
  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 0, ""});

  OpenedRun const opened(std::move(run));
  ReplayBaseline const& baseline = opened.session->baseline();
  EXPECT_FALSE(baseline.is_refused) << baseline.reason;
  EXPECT_EQ(baseline.step_ns, 3'600);
  EXPECT_EQ(baseline.steps, 0U);
  EXPECT_THAT(baseline.cautions, testing::Contains(testing::HasSubstr("no whole step")));
  EXPECT_THAT(OpenedRun(slow_input()).session->baseline().cautions, testing::IsEmpty());
}

TEST(ReplaySession, StopsBetweenQuestions) {
  OpenedRun const opened(slow_input());
  std::stop_source source;
  source.request_stop();
  EXPECT_TRUE(find_fixes(*opened.session, source.get_token()).empty());
}

}  // namespace
}  // namespace stepscope::analyzer
