#include "viewer/loading/reload_task.h"

#include <utility>

#include "viewer/event_store/event_store.h"
#include "viewer/loading/run_series.h"

namespace stepscope::viewer {

bool ReloadTask::is_done() {
  if (!made_) {
    if (!opening_->is_done()) return false;

    made_.emplace(opening_->take());
    if (!*made_) return true;
    Scene const& opened = ***made_;
    if (!opened.has_analysis())
      analysis_ =
          std::make_unique<OutOfCoreAnalysis>(opened.store->files(), opened.series != nullptr);
  }

  if (!analysis_) return true;
  if (!analysis_->is_done()) return false;

  auto found = analysis_->take();
  analysis_.reset();
  Scene& scene = ***made_;
  if (!found) {
    scene.missing_analysis = "not analyzed: " + found.error().message;
    return true;
  }

  if (scene.series && found->sample) {
    std::string const path = scene.series->shown_path();
    scene.series->take(path, named_sample(std::move(*found->sample), path));
  }
  take_analysis(scene, std::move(*found));
  return true;
}

void ReloadTask::finish() {
  while (!is_done()) {
    if (analysis_) {
      analysis_->finish();
    } else {
      opening_->finish();
    }
  }
}

}  // namespace stepscope::viewer
