// Moves of the visible window: zoom, pan, go there, back again; and making a track or an event
// seen. Pure but for the state they are given.
#pragma once

#include <cstddef>
#include <span>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

inline constexpr double kMinSpan = 50;  ///< ns across the window: finer than any clock that records
inline constexpr size_t kMaxHistory = 200;  ///< view moves that can be undone

/// Zooms by `factor` (< 1 shows less) and keeps what is at `anchor` (0 = left edge, 1 = right edge)
/// where it is.
void zoom(ViewState& state, Scene const& scene, double factor, double anchor);
/// Moves by a share of the window.
void pan(ViewState& state, Scene const& scene, double share);
/// Shows exactly this window (bounded to what can be shown); remembers the old one for undo.
void go_to(ViewState& state, Scene const& scene, TimeWindow window);
/// The same, moved or shortened so that hardly any empty room before and after the run is shown.
void go_inside(ViewState& state, Scene const& scene, TimeWindow window);
/// Shows [begin, end) with room at both sides.
void frame(ViewState& state, Scene const& scene, model::Interval when);
void show_all(ViewState& state, Scene const& scene);
/// Back to the window before the last move.
void undo(ViewState& state);
/// Remembers the window; call when a move (drag) begins.
void remember(ViewState& state);
/// The same for moves without a beginning (wheel, held keys): remembers only what is far from the
/// last one.
void remember_if_distant(ViewState& state);

/// Opens the groups around a node, shows it if it was hidden or filtered away, and scrolls so that
/// it can be seen; `rows_height` in pixels at scale 1.
void reveal(ViewState& state, Scene const& scene, uint32_t node, float rows_height);
/// Scrolls so that these nodes, one or more, can be seen together; what was hidden is shown, what
/// is closed stays closed. Where they have no room together the first one is seen, with what has
/// room beside it.
void scroll_to(ViewState& state, Scene const& scene, std::span<uint32_t const> nodes,
               float rows_height);
void select(ViewState& state, Scene const& scene, Selection selection);

}  // namespace stepscope::viewer
