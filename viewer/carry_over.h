// What a person sees and has chosen, taken over to the same run read again: nodes, events, findings and times have other numbers
// there.
#pragma once

#include "viewer/scene.h"
#include "viewer/view_state.h"

namespace stepscope::viewer {

/// `after`: the run of `before` with more in it. Who saw its end sees its end; who saw it all sees it all. What is not there any
/// more is not chosen any more; a search is to be done again.
ViewState carried_over(ViewState const& state, Scene const& before, Scene const& after);

}  // namespace stepscope::viewer
