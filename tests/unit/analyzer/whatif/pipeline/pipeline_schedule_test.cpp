// Played schedules against closed forms, and against a twin that waits for what each pass needs.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/whatif/pipeline/pipeline_schedule.h"

namespace stepscope::analyzer {
namespace {

PipelineUnits equal_stages(size_t stages, PipelineSchedule schedule) {
  PipelineUnits units;
  units.stages.assign(stages, {100, 200});
  units.activation_ns.assign(stages - 1, 0);
  units.gradient_ns.assign(stages - 1, 0);
  units.schedule = schedule;
  return units;
}

TEST(PipelineSchedule, EqualStagesTakeMicroBatchesPlusStagesLessOne) {
  for (auto const schedule : {PipelineSchedule::kGpipe, PipelineSchedule::kOneForwardOneBackward})
    for (size_t const stages : {2U, 3U, 4U, 8U})
      for (uint32_t const batches : {1U, 2U, 4U, 8U, 64U}) {
        double const passes = batches + static_cast<double>(stages) - 1;
        EXPECT_NEAR(play_pipeline(equal_stages(stages, schedule), batches).end_ns, passes * 300,
                    1e-6)
            << stages << " stages, " << batches << " micro-batches";
      }
}

TEST(PipelineSchedule, TheLastGradientsComeOnePassBeforeTheEnd) {
  PipelineTimes const times =
      play_pipeline(equal_stages(4, PipelineSchedule::kOneForwardOneBackward), 8);
  EXPECT_NEAR(times.last_gradient_ns, times.end_ns - 200, 1e-6);
}

TEST(PipelineSchedule, TheSlowestStageSetsThePace) {
  PipelineUnits units = equal_stages(4, PipelineSchedule::kOneForwardOneBackward);
  units.stages[2] = {150, 300};
  double const more = play_pipeline(units, 65).end_ns - play_pipeline(units, 64).end_ns;
  EXPECT_NEAR(more, 450, 1e-6);
}

/// Ends of passes by relaxation: each pass ends behind the one before it on its stage and behind
/// its message, until nothing changes.
class ScheduleTwin {
 public:
  ScheduleTwin(PipelineUnits const& units, int batches) : units_(units), batches_(batches) {}

  double end_ns() {
    for (bool changes = true; changes;) {
      changes = false;
      for (int stage = 0; stage < stages(); ++stage) changes = relax(stage) || changes;
    }
    double last = 0;
    for (auto const& [pass, end] : end_) last = std::max(last, end);
    return last;
  }

 private:
  using Pass = std::tuple<int, bool, int>;  ///< stage, forward, micro-batch

  [[nodiscard]] int stages() const { return static_cast<int>(units_.stages.size()); }

  /// The passes of a stage in their order.
  [[nodiscard]] std::vector<Pass> order(int stage) const {
    bool const is_gpipe = units_.schedule == PipelineSchedule::kGpipe;
    int const first = is_gpipe ? batches_ : std::min(stages() - stage, batches_);
    std::vector<Pass> passes;
    for (int b = 0; b < first; ++b) passes.emplace_back(stage, true, b);
    for (int b = 0; b < batches_; ++b) {
      passes.emplace_back(stage, false, b);
      if (first + b < batches_) passes.emplace_back(stage, true, first + b);
    }
    return passes;
  }

  /// When the message of a pass has come over a boundary, behind all messages before it.
  double message(int from, bool forward, int batch) {
    int const boundary = forward ? from : from - 1;
    double const ns = forward ? units_.activation_ns[static_cast<size_t>(boundary)]
                              : units_.gradient_ns[static_cast<size_t>(boundary)];
    double free = 0;
    for (int b = 0; b <= batch; ++b) free = std::max(free, end_[{from, forward, b}]) + ns;
    return free;
  }

  bool relax(int stage) {
    bool changes = false;
    double before = 0;
    for (Pass const& pass : order(stage)) {
      auto const [s, forward, batch] = pass;
      double ready = before;
      if (forward && stage > 0) ready = std::max(ready, message(stage - 1, true, batch));
      if (!forward && stage + 1 < stages())
        ready = std::max(ready, message(stage + 1, false, batch));

      auto const& unit = units_.stages[static_cast<size_t>(stage)];
      double const end = ready + (forward ? unit.forward_ns : unit.backward_ns);
      changes = changes || end != end_[pass];
      before = end_[pass] = end;
    }
    return changes;
  }

  PipelineUnits const& units_;
  int batches_;
  std::map<Pass, double> end_;
};

TEST(PipelineSchedule, IsAsLongAsItsTwin) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> ns(0, 300), stages(2, 5), batches(1, 9), half(0, 1);
  for (int trial = 0; trial < 60; ++trial) {
    PipelineUnits units;
    int const count = stages(random);
    for (int s = 0; s < count; ++s)
      units.stages.push_back({double(ns(random)), double(ns(random))});
    for (int s = 0; s + 1 < count; ++s) {
      units.activation_ns.push_back(ns(random));
      units.gradient_ns.push_back(ns(random));
    }
    units.schedule =
        half(random) == 1 ? PipelineSchedule::kGpipe : PipelineSchedule::kOneForwardOneBackward;

    int const number = batches(random);
    EXPECT_NEAR(play_pipeline(units, static_cast<uint32_t>(number)).end_ns,
                ScheduleTwin(units, number).end_ns(), 1e-6)
        << "trial " << trial;
  }
}

}  // namespace
}  // namespace stepscope::analyzer
