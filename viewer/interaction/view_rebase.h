// What a person sees and has chosen, taken over to the same run read again: nodes, events, findings
// and times have other numbers there.
#pragma once

#include <cstdint>
#include <span>

#include "viewer/event_store/out_of_core/analysis.h"
#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// `after`: the run of `before` with more in it. Who saw its end sees its end; who saw it all sees
/// it all. What is not there any more is not chosen any more; a search is to be done again.
ViewState carried_over(ViewState const& state, Scene const& before, Scene const& after);
/// The same run whose nodes were made anew. `nodes_now`: for each node where it is now.
void move_nodes(ViewState& state, std::span<uint32_t const> nodes_now);
/// As take_analysis() of a scene alone; the row at the upper edge stays there, whatever rows come
/// above it.
void take_analysis(Scene& scene, ViewState& state, OutOfCoreAnalysis::Result result);

}  // namespace stepscope::viewer
