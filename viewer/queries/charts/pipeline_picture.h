// A usual step of a pipeline as a picture: what each stage's device did meanwhile, pixel by pixel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/event_store/event_store.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// The time in which any stage was in the first stage's step of median length. View time. None: a
/// stage has no such step.
std::optional<TimeWindow> steady_step_of(Scene const& scene,
                                         analyzer::PipelineStats const& pipeline);
/// A device's time in `width` pixels. O(width · log segments).
std::vector<StripPiece> device_pieces(Scene const& scene, uint32_t node, TimeWindow window,
                                      float width);

}  // namespace stepscope::viewer
