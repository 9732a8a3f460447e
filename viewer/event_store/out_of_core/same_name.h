// The next event of the same name in a run that is not in memory: looked for from the selected one
// outward, block by block, until the first is found.
#pragma once

#include <stop_token>

#include "viewer/event_store/same_name.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// In the order of the rows: by start, longer ones first; of events of one start and one duration
/// one counts. About 10 ns an event between both, on every core; told to stop, it returns nothing.
/// A damaged block has no events.
SameNameFound find_same_name_in_files(Scene const& scene, SameNameKey const& key,
                                      std::stop_token const& stop);

}  // namespace stepscope::viewer
