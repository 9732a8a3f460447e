#include "viewer/scene/view_moves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/scene/shown_rows.h"
#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {
namespace {

/// Empty room that may be shown before and after the run, as a share of the window.
constexpr double kMargin = 0.5;

TimeWindow reach_of(ViewState const& state, Scene const& scene) {
  return state.reach.value_or(TimeWindow{0, static_cast<double>(scene.length)});
}

double longest_span(TimeWindow reach) {
  return std::max(reach.span() * (1 + 2 * kMargin), kMinSpan);
}

TimeWindow bounded(TimeWindow reach, TimeWindow window) {
  double const span = std::clamp(window.span(), kMinSpan, longest_span(reach));
  double const middle = (window.begin + window.end) / 2;
  double const first = reach.begin - kMargin * span;
  double const begin =
      std::clamp(middle - span / 2, first, std::max(reach.end - (1 - kMargin) * span, first));
  return {begin, begin + span};
}

/// Shows a node that was hidden or filtered away, with the groups around it.
void unhide(ViewState& state, Scene const& scene, uint32_t node) {
  for (uint32_t i = 0; i <= node; ++i)
    if (scene.nodes[i].subtree_end > node) state.tracks.hidden.erase(scene.nodes[i].path);
  if (!has_words(scene.nodes[node].path, state.tracks.filter)) state.tracks.filter.clear();
}

}  // namespace

void remember(ViewState& state) {
  if (!state.history.empty() && state.history.back() == state.window) return;
  if (state.history.size() >= kMaxHistory) state.history.erase(state.history.begin());
  state.history.push_back(state.window);
}

void remember_if_distant(ViewState& state) {
  // Four times the zoom or a window away from what Backspace would show.
  constexpr double kDistant = 4;

  if (!state.history.empty()) {
    TimeWindow const& last = state.history.back();
    double const ratio = state.window.span() / last.span();
    double const moved =
        std::abs((state.window.begin + state.window.end) - (last.begin + last.end)) / 2;
    if (ratio < kDistant && ratio > 1 / kDistant &&
        moved < std::max(state.window.span(), last.span()))
      return;
  }
  remember(state);
}

void zoom(ViewState& state, Scene const& scene, double factor, double anchor) {
  TimeWindow const reach = reach_of(state, scene);
  double const span = state.window.span();
  double const wanted = std::clamp(span * factor, kMinSpan, longest_span(reach));
  double const fixed = state.window.begin + span * anchor;
  double const begin = fixed - wanted * anchor;
  state.window = {begin, begin + wanted};
  // The time under the cursor stays, but for the end of the world.
  if (begin < reach.begin - kMargin * wanted || begin + wanted > reach.end + kMargin * wanted)
    state.window = bounded(reach, state.window);
}

void pan(ViewState& state, Scene const& scene, double share) {
  double const by = state.window.span() * share;
  state.window = bounded(reach_of(state, scene), {state.window.begin + by, state.window.end + by});
}

void go_to(ViewState& state, Scene const& scene, TimeWindow window) {
  TimeWindow const next = bounded(reach_of(state, scene), window);
  if (next == state.window) return;
  remember(state);
  state.window = next;
}

void go_inside(ViewState& state, Scene const& scene, TimeWindow window) {
  constexpr double kEdge = 0.02;  // shows where the run begins and ends
  TimeWindow const reach = reach_of(state, scene);
  double const room = kEdge * std::min(window.span(), reach.span());
  double const span = std::min(window.span(), reach.span() + 2 * room);
  double const begin = std::clamp(window.begin, reach.begin - room,
                                  std::max(reach.end + room - span, reach.begin - room));
  go_to(state, scene, {begin, begin + span});
}

void frame(ViewState& state, Scene const& scene, model::Interval when) {
  // A tenth of what is shown on each side: the neighbours say where one is.
  auto const length = std::max(static_cast<double>(when.length()), kMinSpan / 2);
  double const room = length * 0.125;
  auto const begin = static_cast<double>(when.begin);
  go_to(state, scene, {begin - room, begin + length + room});
}

void show_all(ViewState& state, Scene const& scene) {
  go_to(state, scene, {0, static_cast<double>(scene.length)});
}

void undo(ViewState& state) {
  while (!state.history.empty() && state.history.back() == state.window) state.history.pop_back();
  if (state.history.empty()) return;
  state.window = state.history.back();
  state.history.pop_back();
}

void reveal(ViewState& state, Scene const& scene, uint32_t node, float rows_height) {
  if (node >= scene.nodes.size()) return;
  for (uint32_t i = 0; i < node; ++i)
    if (scene.nodes[i].subtree_end > node) state.closed.erase(i);
  scroll_to(state, scene, std::array{node}, rows_height);
}

void scroll_to(ViewState& state, Scene const& scene, std::span<uint32_t const> nodes,
               float rows_height) {
  // So much must be seen of a track that is taller than the screen.
  constexpr float kSeen = 3 * kLaneHeight;
  for (uint32_t const node : nodes) unhide(state, scene, node);

  auto const [first_top, first_bottom] = node_extent(scene, state, nodes.front());
  float top = first_top, bottom = first_bottom;
  for (uint32_t const node : nodes.subspan(1)) {
    auto const extent = node_extent(scene, state, node);
    top = std::min(top, extent.first);
    bottom = std::max(bottom, extent.second);
  }

  float const room = std::max(rows_height - pinned_height(scene, state, rows_height), 1.0F);
  if (top >= state.scroll && bottom <= state.scroll + room) return;

  // In the middle: what surrounds a track helps to read it.
  float wanted = (top + bottom - room) / 2;
  if (bottom - top > room) {
    bool const is_first_seen = std::min(first_top + kSeen, first_bottom) <= top + room;
    wanted = is_first_seen ? top : std::min((first_top + first_bottom - room) / 2, first_top);
  }
  float const last = std::max(content_height(scene, state) - room, 0.0F);
  state.scroll = std::clamp(wanted, 0.0F, last);
}

void select(ViewState& state, Scene const& scene, Selection selection) {
  state.selection = selection;
  state.panels.found_track.clear();
  if (selection.what == Selection::What::kEvent) return;
  state.device = scene.device_of(scene.analysis.gaps[selection.index].ref).value_or(state.device);
}

}  // namespace stepscope::viewer
