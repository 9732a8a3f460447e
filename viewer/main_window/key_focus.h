// Who has the keyboard: the timeline, or a part of the window whose buttons, rows and headings the
// arrow keys go through and the space bar presses. F6 hands it on, Esc gives it back.
#pragma once

#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// The next part takes it; after the last one the timeline.
void hand_keys_on(ViewState& state);
/// Each frame, before the parts are drawn.
void begin_keys(ViewState& state);
/// Inside the part, before its content: takes the keys if they were just handed on; the first table
/// in it has them then. Clicking elsewhere gives them back.
void take_keys(ViewState& state, KeyPlace place);
/// And behind it: a frame around the part that has the keys.
void mark_keys(ViewState const& state, KeyPlace place);

}  // namespace stepscope::viewer
