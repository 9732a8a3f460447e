#include "viewer/interaction/notes.h"

#include <algorithm>

#include "viewer/interaction/navigate.h"

namespace stepscope::viewer {

double note_time(ViewState const& state, Scene const& scene) {
  if (state.panels.pointed) return *state.panels.pointed;
  if (state.selection) return static_cast<double>(scene.when(*state.selection).begin);
  return (state.window.begin + state.window.end) / 2;
}

void add_note(ViewState& state, Scene const& scene) {
  if (state.notes.size() >= kMostNotes) return;
  // Not before and not after the run: it would be out of what can be shown.
  double const time = std::clamp(note_time(state, scene), 0.0, static_cast<double>(scene.length));
  Note note{static_cast<int64_t>(time), {}};
  auto const after =
      std::upper_bound(state.notes.begin(), state.notes.end(), note.time_ns,
                       [](int64_t wanted, Note const& other) { return wanted < other.time_ns; });
  auto const added = state.notes.insert(after, std::move(note));
  state.panels.new_note = static_cast<uint32_t>(added - state.notes.begin());
  state.panels.tab = Tab::kNotes;
}

void delete_note(ViewState& state, uint32_t note) {
  if (note >= state.notes.size()) return;
  state.notes.erase(state.notes.begin() + static_cast<std::ptrdiff_t>(note));
  state.panels.new_note.reset();
}

void go_to_note(ViewState& state, Scene const& scene, uint32_t note) {
  if (note >= state.notes.size()) return;
  auto const time = static_cast<double>(state.notes[note].time_ns);
  double const half = state.window.span() / 2;
  go_to(state, scene, {time - half, time + half});
}

}  // namespace stepscope::viewer
