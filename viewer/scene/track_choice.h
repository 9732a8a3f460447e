// Which tracks stand on the screen, in which order: the tree of the scene after what a person
// pinned, hid, moved, closed and filtered. Pure; the choice is a part of the view state and names
// tracks by their path, which outlives the run being opened again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

/// Gives every node its path: the labels from the rank down, "Rank 3/Device 0/Stream 7". Nodes that
/// would have the same path are numbered from the second on, in their order: "thread#2".
void name_paths(std::vector<Node>& nodes);

/// A row of the tree.
struct ShownTrack {
  uint32_t node = 0;  ///< of Scene::nodes
  bool open = true;   ///< what is below it is shown
};

/// From top to bottom, without what is hidden, in a closed group or filtered away. Groups around
/// what matches a filter are open. O(nodes), and a look at each path where there is a filter.
std::vector<ShownTrack> shown_tracks(Scene const& scene, ViewState const& state);
/// The pinned tracks that the run has, in their order.
std::vector<uint32_t> pinned_tracks(Scene const& scene, TrackChoice const& choice);
/// How many tracks of the run were hidden by name; what is below them is not counted.
uint32_t count_hidden(Scene const& scene, TrackChoice const& choice);
/// Whether a path has all words, in any case; a number only as a whole: "rank 1" is not in "Rank
/// 13".
bool has_words(std::string_view path, std::string_view words);
/// The node of a path.
std::optional<uint32_t> node_of_path(Scene const& scene, std::string_view path);
/// The track that keys are about: the one that was gone to, until something is selected.
std::optional<uint32_t> chosen_track(Scene const& scene, ViewState const& state);
/// The group around a node.
std::optional<uint32_t> parent_of(Scene const& scene, uint32_t node);

[[nodiscard]] bool is_pinned(ViewState const& state, Scene const& scene, uint32_t node);
/// Pins a track, or lets it go.
void toggle_pin(ViewState& state, Scene const& scene, uint32_t node);
void hide(ViewState& state, Scene const& scene, uint32_t node);
/// Hides all others of the node's kind: all other ranks, all other streams of the run.
void hide_others(ViewState& state, Scene const& scene, uint32_t node);
/// Shows what was hidden; a filter is cleared.
void show_all_tracks(ViewState& state);
/// Moves a track, or the pinned row of one, to another of its group: above it or below it. A pinned
/// row stays among the pinned.
void move_track_to(ViewState& state, Scene const& scene, uint32_t node, uint32_t other, bool below);
void move_pinned_to(ViewState& state, Scene const& scene, uint32_t node, uint32_t other,
                    bool below);
/// Moves a track by one among those of its group that can be seen: −1 up, +1 down. False at the
/// end.
bool move_track(ViewState& state, Scene const& scene, uint32_t node, int direction);
[[nodiscard]] bool can_move(ViewState const& state, Scene const& scene, uint32_t node,
                            int direction);
/// The choice of another run for the same tracks: tracks that only this run has stay beside those
/// that they stood beside.
[[nodiscard]] TrackChoice adopted_choice(Scene const& scene, TrackChoice const& own,
                                         TrackChoice const& other);
/// Opens or closes a group.
void toggle_open(ViewState& state, uint32_t node);
void close_all_ranks(ViewState& state, Scene const& scene);
void open_all(ViewState& state);

}  // namespace stepscope::viewer
