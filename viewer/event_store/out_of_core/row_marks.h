// What a row of the timeline shows of a run that is not in memory: its events where they were read,
// else how full its pixels are, from summaries. Also which events a frame would like to have. Pure
// functions of what is in memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "viewer/event_store/event_store.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"

namespace stepscope::viewer {

/// The events of a track's node, of a communicator's, or of all streams of a device's, in the
/// window; null where they are not in memory.
std::shared_ptr<Tile const> tile_of(Scene const& scene, uint32_t node, TimeWindow window);

/// The lanes of a track or a communicator whose events are in the tile.
std::span<Lane const> lanes_of(Scene const& scene, Tile const& tile, uint32_t node);
/// The segments of a device whose streams are all in the tile.
Segments const& segments_of(Scene const& scene, Tile const& tile, uint32_t node);
/// The samples of a tile, where one is there that tells what holds at the left edge, `begin`; else
/// null.
Curve const* known_curve(Tile const* tile, uint32_t track, double begin);

/// The pixels of a track's node, or of a communicator's: `width` of them over the window, from
/// summaries alone.
std::vector<DensityColumn> density_of(Scene const& scene, uint32_t node, TimeWindow window,
                                      float width);
/// The part of a window that the run has, by a process's clock.
model::Interval trace_window(Scene const& scene, uint32_t rank, double begin, double end);
/// A trace time, within what a trace can have.
int64_t clamped_time(double time);
/// A device's time in `width` pixels.
std::vector<StripPiece> strip_pieces(Scene const& scene, uint32_t node, TimeWindow window,
                                     float width);

/// What the rows of a frame would show in more detail: the tracks that are shown of each process
/// (by index into Run::ranks); and what the selected event belongs to. None that memory would not
/// hold.
std::vector<TileRequest> requests_for(Scene const& scene, std::optional<Selection> const& selection,
                                      TimeWindow window,
                                      std::map<uint32_t, std::set<uint32_t>> const& shown);

}  // namespace stepscope::viewer
