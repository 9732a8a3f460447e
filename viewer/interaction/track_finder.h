// Tracks by a part of their name: "rank 3 stream 7" finds stream 7 of rank 3 first. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "viewer/scene/scene.h"
#include "viewer/scene/view_state.h"

namespace stepscope::viewer {

inline constexpr uint32_t kMostFound = 200;  ///< more than a person looks through

/// Nodes of Scene::nodes, the best first, at most kMostFound of `total`. First come paths that have
/// all words of the text; among them, those with the words whole, in their order and close to the
/// end. Then come paths that have the text's letters in their order. All for an empty text.
struct FoundTracks {
  std::vector<uint32_t> nodes;
  uint32_t total = 0;
  uint32_t with_words = 0;  ///< so many of `nodes`, the first ones, have all words
};
FoundTracks find_tracks(Scene const& scene, std::string_view text);

/// Shows the node's row: opens what is around it, scrolls to it and lets it stand out for a moment.
void go_to_track(ViewState& state, Scene const& scene, uint32_t node, float rows_height);
/// The same for a device (index into Analysis::devices), whose facts the panels show from now on.
void go_to_device(ViewState& state, Scene const& scene, uint32_t device, float rows_height);
/// A frame's time has passed.
void fade_flash(ViewState& state, float seconds);

}  // namespace stepscope::viewer
