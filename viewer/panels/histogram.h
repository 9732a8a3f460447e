// The durations of the device ops of one name, as bars that can be clicked.
#pragma once

#include "viewer/panels/panels.h"

namespace stepscope::viewer {

/// Of the name that is searched for as a whole (query.h), on the chosen device; a click on a bar
/// searches for its calls, which stand out in the timeline then.
void duration_bars(Scene const& scene, ViewState& state, Memo& memo);

}  // namespace stepscope::viewer
