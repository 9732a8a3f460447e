// The curve of a scaling series by replay, computed on another thread: it reads a run again.
#pragma once

#include <memory>
#include <vector>

#include "analyzer/scaling/series.h"
#include "trace/base/expected.h"
#include "viewer/comparison/shared_sample.h"

namespace stepscope::viewer {

class CurveTask {
 public:
  /// Begins at once. `series`: of the samples, without a refusal. The samples' names are paths.
  CurveTask(analyzer::ScalingSeries series, std::vector<SharedSample> const& samples);
  /// Does not wait: the thread ends by itself after the run that it reads.
  ~CurveTask();
  CurveTask(CurveTask const&) = delete;
  CurveTask& operator=(CurveTask const&) = delete;

  [[nodiscard]] bool is_done() const;
  /// Waits until it is done.
  void finish() const;
  /// Only once, when it is done. Errors: those of reading.
  base::Expected<analyzer::ReplayedCurve> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  ///< with the thread, which may outlive the task
};

}  // namespace stepscope::viewer
