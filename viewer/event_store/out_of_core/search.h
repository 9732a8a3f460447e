// Search in a run that is not in memory: texts first, then the blocks of processes that have such a
// text, hits as they are found.
#pragma once

#include <stop_token>

#include "viewer/event_store/search.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// All events that match, in time order; those beyond kMaxSearchHits are counted, and are those of
/// the last processes. Told to stop, it returns nothing. `feed`: gets what was found so far, again
/// and again.
SearchHits find_hits_in_files(Scene const& scene, Query const& query, std::stop_token const& stop,
                              SearchFeed* feed = nullptr);

}  // namespace stepscope::viewer
