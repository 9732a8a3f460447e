// Where a finding is to be seen: its places with their steps and events, and the SQL that finds
// them.
#pragma once

#include <string>

#include "agent/json_rpc.h"
#include "agent/run_store.h"

namespace stepscope::agent {

/// Places of an answer, of the ten that a finding has at most.
inline constexpr size_t kMostPlaces = 3;

/// The finding's evidence as in `stepscope analyze --json`, and for each place the steps that it
/// lies in, up to 3 events that fit it best, and the SQL that lists them. Events are absent where
/// the run is not in memory. `evidence`: of the finding, as the JSON has it.
OrderedJson places_json(OpenRun& run, analyzer::Finding const& finding,
                        OrderedJson const& evidence);
/// Lines of a Markdown list. `places`: as above.
std::string places_markdown(OpenRun const& run, OrderedJson const& places);

/// `stepscope view RUN --time …` for one place of the finding, ready for a shell. The window has
/// the place in its middle third.
std::string view_command(OpenRun const& run, analyzer::Finding::Evidence const& place);

}  // namespace stepscope::agent
