// What a person searches for: a part of a name, and what narrows it down. `forward kind:kernel
// >100us rank:3`, or a whole name in quotation marks.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "viewer/event_store/search.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Never fails: words that are no filter are part of the name. Filters: `kind:X`, `rank:N`, `>T`,
/// `>=T`, `<T`, `<=T` with a time such as 10us.
Query parse_query(std::string_view text);
/// The text that finds exactly this name, with durations from `least_ns` to `most_ns`.
std::string query_for(std::string_view printable_name);
std::string query_for(std::string_view printable_name, int64_t least_ns, int64_t most_ns);

/// All events that match a text. O(names + events); returns early when told to stop. `feed`: gets
/// what was found so far where the run's files are read.
SearchHits find_hits(Scene const& scene, std::string const& text, std::stop_token const& stop = {},
                     SearchFeed* feed = nullptr);

}  // namespace stepscope::viewer
