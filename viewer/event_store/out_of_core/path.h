// The critical path of a run that is not in memory, as a line over all of it. It is found stretch
// by stretch: each stretch is read, and forgotten but for its pieces.
#pragma once

#include <cstdint>
#include <stop_token>

#include "viewer/event_store/path_line.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// A stretch has no more events: a tenth of a second of a core's work, in some 100 MiB.
inline constexpr uint64_t kMostStretchEvents = uint64_t{1} << 20;
/// Gives the line of an analyzed run from its begin to its end. What cannot be read has none.
void find_path_in_files(Scene const& scene, PathFeed& feed, std::stop_token const& stop,
                        uint64_t most_stretch_events = kMostStretchEvents);

}  // namespace stepscope::viewer
