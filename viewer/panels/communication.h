// The parts of the communication panel.
#pragma once

#include "viewer/panels/panels.h"

namespace stepscope::viewer {

/// A row a device, a column a collective, the brighter the longer it waited; a click shows the
/// collective on all its devices.
void wait_matrix(Scene const& scene, ViewState& state, Memo& memo, float rows_height);
/// Bus bandwidth by size with the fits; a click shows the slowest collective of that size.
void bandwidth_chart(Scene const& scene, ViewState& state, Memo& memo, float rows_height);
/// Selects a collective at one of its participants and frames it over all of them.
void show_collective(Scene const& scene, ViewState& state, uint32_t collective,
                     uint32_t participant, float rows_height);

}  // namespace stepscope::viewer
