// Notes at times of the run: a part of the view state, kept with it (view_state_store.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

inline constexpr size_t kMostNotes = 1000;  ///< more are no notes

/// Where the next note would be: under the mouse, else where the selection begins, else in the
/// middle of what is visible.
double note_time(ViewState const& state, Scene const& scene);
/// Adds an empty one there, which waits for its text in the notes' panel.
void add_note(ViewState& state, Scene const& scene);
void delete_note(ViewState& state, uint32_t note);
/// Shows the note's time in the middle of the window, at the same zoom.
void go_to_note(ViewState& state, Scene const& scene, uint32_t note);

}  // namespace stepscope::viewer
