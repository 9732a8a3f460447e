// Moves through a run: every function turns one request of the person (show that, next hit) into a
// change of ViewState. Pure but for the state they are given; keys, menus, clicks and the command
// line all come here. Moves of the window alone are those of scene/view_moves.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/queries/path_line.h"
#include "viewer/queries/search_query.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_moves.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// Frames the selection, or the marked range, or everything.
void zoom_to_selection(ViewState& state, Scene const& scene);
/// Selects and shows the other end of a launch. False when there is none.
bool follow_link(ViewState& state, Scene const& scene, float rows_height);
/// Selects and shows the piece of the critical path in the middle of the window. False when there
/// is none.
bool go_to_path(ViewState& state, Scene const& scene, PathLine const& path, float rows_height);
/// Selects and shows the collective on the next device that takes part in it. False when the
/// selection takes part in no collective.
bool follow_collective(ViewState& state, Scene const& scene, float rows_height);
/// The next (+1) or previous (−1) event of the same name on the same track. False at the end. In a
/// run that is not in memory it may have to be looked for first: Panels::seek.
bool step_same_name(ViewState& state, Scene const& scene, int direction);
/// Selects and shows the event that such a search found.
void show_same_name(ViewState& state, Scene const& scene, Selection found);

/// The finding in focus shows its next place (1) or the one before (−1), in a circle.
void step_place(ViewState& state, Scene const& scene, int direction, float rows_height);
/// Shows a finding's place: frames it, opens and scrolls to its track. Where the finding is about a
/// device of another rank, no rank is opened, so that both are seen.
void focus_finding(ViewState& state, Scene const& scene, FindingFocus focus, float rows_height);
/// Shows a piece of time on a track or device, with its surroundings.
void show_place(ViewState& state, Scene const& scene, analyzer::Finding::Evidence const& place,
                float rows_height);

/// The next (+1) or previous (−1) finding in their order. False at the end.
bool step_finding(ViewState& state, Scene const& scene, int direction, float rows_height);
/// Shows the next (+1) or previous (−1) step of the chosen device; of a run of one step that of the
/// next device. Where many are seen, it is the first or the last of them. False at the end.
bool go_to_step(ViewState& state, Scene const& scene, int direction);
/// Compares the step in the middle of the window with the median one, in the panel Statistics.
void compare_step(ViewState& state, Scene const& scene);
/// The selection's time becomes the marked range.
void mark_selection(ViewState& state, Scene const& scene);

/// Hits that were found so far: the search goes on.
void show_first_hits(ViewState& state, SearchHits found);
/// Asks for the hits of a text: they are pending until show_hits().
void search_for(ViewState& state, std::string text);
/// Puts the hits of the text beside it.
void show_hits(ViewState& state, SearchHits const& found);
/// Both at once, in the time that it takes.
void run_search(ViewState& state, Scene const& scene);
/// Selects and shows the next (+1) or previous (−1) hit, around the end.
void step_search(ViewState& state, Scene const& scene, int direction, float rows_height);

/// Esc: closes or clears the one thing that was opened last.
void dismiss(ViewState& state);

}  // namespace stepscope::viewer
