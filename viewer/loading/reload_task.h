// Reads the run that is shown again on another thread, analysis included. The new run takes its
// place when it is complete.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "trace/base/expected.h"
#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/loading/open_task.h"
#include "viewer/loading/run_files.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

class ReloadTask {
 public:
  explicit ReloadTask(std::unique_ptr<OpenTask> opening) : opening_(std::move(opening)) {}

  /// Begins the analysis once the files are open.
  [[nodiscard]] bool is_done();
  /// Waits until it is done.
  void finish();
  /// Only once, when it is done. Errors: those of opening.
  base::Expected<std::unique_ptr<Scene>> take() { return std::move(*made_); }
  /// As they were before they were read.
  [[nodiscard]] RunFiles take_files() { return opening_->take_files(); }

 private:
  std::unique_ptr<OpenTask> opening_;
  std::optional<base::Expected<std::unique_ptr<Scene>>> made_;
  std::unique_ptr<OutOfCoreAnalysis> analysis_;
};

}  // namespace stepscope::viewer
