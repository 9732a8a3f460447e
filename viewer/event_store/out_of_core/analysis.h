// The analysis of a run that is not in memory, on its own thread: process by process, as `stepscope
// analyze` does it.
#pragma once

#include <memory>
#include <optional>

#include "analyzer/compare/run_sample.h"
#include "trace/base/expected.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

class OutOfCoreAnalysis {
 public:
  struct Result {
    analyzer::Analysis analysis;
    std::vector<Scene::Participation> participations;
    std::map<analyzer::DeviceRef, GapGrid> gap_grids;
    std::vector<Curve> memory_curves;  ///< one for each device of the analysis
    OutOfCoreCommunicators communicators;
    std::optional<analyzer::RunMeasurements> sample;  ///< where it was asked for
    std::vector<analyzer::StepPeriod> periods;        ///< Scene::periods: of `analysis`
    std::string verdict;                              ///< Scene::verdict
  };

  /// Begins at once. `wants_sample`: the run is one of a series.
  explicit OutOfCoreAnalysis(OutOfCoreRun::Sources sources, bool wants_sample = false);
  /// Does not wait: what is still at work ends by itself, soon.
  ~OutOfCoreAnalysis();
  OutOfCoreAnalysis(OutOfCoreAnalysis const&) = delete;
  OutOfCoreAnalysis& operator=(OutOfCoreAnalysis const&) = delete;

  /// 0 to 1.
  [[nodiscard]] double share() const;
  [[nodiscard]] bool is_done() const;
  /// Waits until it is done.
  void finish() const;
  /// Only once, when it is done. Errors: those of reading.
  base::Expected<Result> take();

 private:
  struct Shared;
  std::shared_ptr<Shared>
      shared_;  ///< with the thread, which outlives this when no caller waits for it
};

/// Puts the analysis of an out-of-core run into its scene; no other thread may look at it
/// meanwhile. Rows of communicators come with it: returns for each node where it is now
/// (view_rebase.h has one that takes a view along).
std::vector<uint32_t> take_analysis(Scene& scene, OutOfCoreAnalysis::Result result);

}  // namespace stepscope::viewer
