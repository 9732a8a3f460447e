// What a row of the timeline shows of a run that is not in memory: its events where they were read,
// else how full its pixels are, from summaries. Also which events a frame would like to have. Pure
// functions of what is in memory.
#pragma once

#include <optional>
#include <vector>

#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"

namespace stepscope::viewer {

/// The events of a node's row in a window, as far as they were read.
RowEvents events_of_row(Scene const& scene, uint32_t node, TimeWindow window);
/// The range of a counter, pixel by pixel, from summaries alone.
std::vector<CounterPixel> curve_pixels(Scene const& scene, uint32_t node, TimeWindow window,
                                       float width);
/// Steps as the files have them: known before the analysis is there.
RankSteps recorded_steps(Scene const& scene, uint32_t rank, TimeWindow window);

/// The pixels of a track's node, or of a communicator's: `width` of them over the window, from
/// summaries alone.
std::vector<DensityColumn> density_of(Scene const& scene, uint32_t node, TimeWindow window,
                                      float width);
/// A device's time in `width` pixels.
std::vector<StripPiece> strip_pieces(Scene const& scene, uint32_t node, TimeWindow window,
                                     float width);

/// What the rows of a frame would show in more detail: the tracks that are shown of each process
/// (by index into Run::ranks); and what the selected event belongs to. None that memory would not
/// hold.
std::vector<TileRequest> requests_for(Scene const& scene, std::optional<Selection> const& selection,
                                      TimeWindow window, ShownTracks const& shown);

}  // namespace stepscope::viewer
