#include <utility>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/steps/steps.h"
#include "viewer/event_store/in_memory/in_memory_questions.h"

namespace stepscope::viewer {

PathLine path_in_memory(Scene const& scene, std::stop_token const& stop) {
  // The pieces of a path are found among all events at once.
  if (!scene.analysis.critical_path) return {};

  std::vector<analyzer::DeviceOps> const devices = analyzer::index_devices(scene.run);
  analyzer::HostSteps steps = analyzer::find_host_steps(scene.run);
  if (steps.source == analyzer::StepSource::kNone) analyzer::detect_steps(devices, steps);
  analyzer::CriticalPathInput input{devices, steps, scene.analysis.collectives,
                                    scene.analysis.devices, scene.analysis.steps};
  input.wants_slack = false;
  input.stop = stop;
  std::vector<analyzer::PathPiece> found;
  if (!analyzer::find_critical_path(input, &found)) return {};

  PathPlaces const places(scene);
  std::vector<PathLine::Piece> pieces;
  for (analyzer::PathPiece const& piece : found)
    if (piece.rank_index >= 0)
      if (auto const placed =
              places.place(piece, scene.trace(static_cast<uint32_t>(piece.rank_index))))
        pieces.push_back(*placed);
  return line_of(std::move(pieces));
}

}  // namespace stepscope::viewer
