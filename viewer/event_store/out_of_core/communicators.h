// The communicators of the devices of a run that is not in memory, from what its analysis matched.
// Each one's row knows how full it is at reduced detail.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/model/summary/track_summary.h"
#include "viewer/event_store/out_of_core/grids/density.h"
#include "viewer/scene/communicators.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct OutOfCoreCommunicator {
  Communicator of;
  std::string label;
  /// What follows is known where streams do not tell a device's communicators apart.
  uint32_t lane_count = 0;
  model::TrackSummary summary;  ///< of its collectives, trace time; without names
  DensityGrid grid;             ///< of the summary
};

/// In the order of their first collectives.
using OutOfCoreCommunicators = std::map<analyzer::DeviceRef, std::vector<OutOfCoreCommunicator>>;

/// `run`: the analysis'; its events are not looked at. `sorted`: all, as find_participations()
/// makes them of an out-of-core run. O(n log n) in the participations.
OutOfCoreCommunicators find_out_of_core_communicators(model::Run const& run,
                                                      analyzer::Analysis const& analysis,
                                                      std::span<Scene::Participation const> sorted);

}  // namespace stepscope::viewer
