#include "viewer/queries/charts/pipeline_picture.h"

#include <algorithm>

#include "viewer/queries/device_rows.h"
#include "viewer/queries/step_comparison.h"

namespace stepscope::viewer {

std::optional<TimeWindow> steady_step_of(Scene const& scene,
                                         analyzer::PipelineStats const& pipeline) {
  if (pipeline.stages.empty()) return std::nullopt;
  analyzer::StepStats const* const steady =
      median_step(facts_of(scene.analysis.steps, pipeline.stages.front().ref));
  if (steady == nullptr) return std::nullopt;

  std::optional<TimeWindow> window;
  for (auto const& stage : pipeline.stages) {
    auto const steps = facts_of(scene.analysis.steps, stage.ref);
    // Steps are sorted by number.
    auto const step = std::partition_point(
        steps.begin(), steps.end(), [&](auto const& each) { return each.step < steady->step; });
    if (step == steps.end() || step->step != steady->step) return std::nullopt;

    auto const begin = static_cast<double>(scene.to_view(step->window.begin));
    auto const end = static_cast<double>(scene.to_view(step->window.end));
    window = window ? TimeWindow{std::min(window->begin, begin), std::max(window->end, end)}
                    : TimeWindow{begin, end};
  }

  return window && window->begin < window->end ? window : std::nullopt;
}

std::vector<StripPiece> device_pieces(Scene const& scene, uint32_t node, TimeWindow window,
                                      float width) {
  return scene.store->device_strip(scene, node, window, width);
}

}  // namespace stepscope::viewer
