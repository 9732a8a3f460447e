// The critical path of a run as a line, found in one go.
#pragma once

#include <stop_token>

#include "viewer/event_store/path_line.h"

namespace stepscope::viewer {

/// In memory as long as the analyzer takes for its critical path. Empty for a run without one, and
/// when told to stop.
PathLine path_line(Scene const& scene, std::stop_token const& stop = {});

}  // namespace stepscope::viewer
