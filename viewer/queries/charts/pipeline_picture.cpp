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
    // By number.
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
  if (scene.far) return strip_pieces(scene, node, window, width);
  std::vector<StripPiece> pieces;
  Segments const& segments = scene.nodes[node].segments;
  auto at = segments.begin();
  for (float x = 0; x < width; ++x) {
    // What is in the middle of a pixel stands for it: of a whole step no more can be seen.
    auto const time =
        window.begin + (static_cast<double>(x) + 0.5) / static_cast<double>(width) * window.span();
    at = std::partition_point(at, segments.end(), [&](Segment const& segment) {
      return static_cast<double>(segment.end) <= time;
    });
    if (at == segments.end()) break;
    if (static_cast<double>(at->begin) > time) continue;
    StripPiece* const last = pieces.empty() ? nullptr : &pieces.back();
    bool const idle = at->gap.has_value();
    if (last != nullptr && last->x1 == x && last->paint == at->paint && last->idle == idle) {
      last->x1 = x + 1;
    } else {
      pieces.push_back({x, x + 1, at->paint, idle, at->gap.value_or(StripPiece::kNoGap)});
    }
  }
  return pieces;
}

}  // namespace stepscope::viewer
