// The replay of a run that is not in memory: of its middle steps, as `stepscope whatif` reads them.
#pragma once

#include <memory>
#include <stop_token>

#include "analyzer/whatif/replay_session.h"
#include "trace/base/expected.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Goes through all events once for the steps and collectives, then reads the part that is
/// replayed. The scene is analyzed and must outlive the session. Errors: those of reading; told to
/// stop.
base::Expected<std::shared_ptr<analyzer::ReplaySession const>> open_replay_of_files(
    Scene const& scene, std::stop_token const& stop);

}  // namespace stepscope::viewer
