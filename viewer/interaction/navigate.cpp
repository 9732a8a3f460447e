#include "viewer/interaction/navigate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/event_store/event_store.h"
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
  for (uint32_t i = 0; i <= node; ++i) {
    if (scene.nodes[i].subtree_end <= node) continue;
    if (i < node) state.closed.erase(i);
    // Revealing a track shows it also where it was hidden.
    state.tracks.hidden.erase(scene.nodes[i].path);
  }
  if (!has_words(scene.nodes[node].path, state.tracks.filter)) state.tracks.filter.clear();

  auto const [top, bottom] = node_extent(scene, state, node);
  float const room = std::max(rows_height - pinned_height(scene, state, rows_height), 1.0F);
  if (top >= state.scroll && bottom <= state.scroll + room) return;

  // In the middle: what surrounds a track helps to read it.
  float const last = std::max(content_height(scene, state) - room, 0.0F);
  state.scroll = std::clamp((top + bottom - room) / 2, 0.0F, last);
}

void select(ViewState& state, Scene const& scene, Selection selection) {
  state.selection = selection;
  if (selection.what == Selection::What::kEvent) return;
  analyzer::DeviceRef const ref = scene.analysis.gaps[selection.index].ref;
  for (uint32_t i = 0; i < scene.analysis.devices.size(); ++i)
    if (scene.analysis.devices[i].ref == ref) state.device = i;
}

void zoom_to_selection(ViewState& state, Scene const& scene) {
  if (state.selection) {
    frame(state, scene, scene.when(*state.selection));
  } else if (state.range) {
    go_to(state, scene, *state.range);
  } else {
    show_all(state, scene);
  }
}

bool follow_link(ViewState& state, Scene const& scene, float rows_height) {
  auto const at = state.selection ? scene.find(*state.selection) : std::nullopt;
  if (!at) return false;
  auto const link = at->trace->columns().link[at->row];
  if (!link.valid()) return false;

  model::Interval const from = scene.when(*state.selection);
  select(state, scene, scene.selection_of(state.selection->rank, *at->trace, link.value));
  model::Interval const to = scene.when(*state.selection);

  auto const visible = [&](int64_t t) {
    return static_cast<double>(t) >= state.window.begin &&
           static_cast<double>(t) < state.window.end;
  };
  if (!visible(to.begin) || !visible(from.begin))
    frame(state, scene, {std::min(from.begin, to.begin), std::max(from.end, to.end)});

  if (auto const node = scene.node_of(*state.selection)) reveal(state, scene, *node, rows_height);
  return true;
}

bool go_to_path(ViewState& state, Scene const& scene, PathLine const& path, float rows_height) {
  double const middle = (state.window.begin + state.window.end) / 2;
  auto const piece = std::partition_point(
      path.pieces.begin(), path.pieces.end(),
      [&](PathLine::Piece const& p) { return static_cast<double>(p.end) <= middle; });
  if (piece == path.pieces.end()) return false;
  if (piece->row) select(state, scene, {Selection::What::kEvent, piece->rank, *piece->row});
  reveal(state, scene, piece->node, rows_height);
  return true;
}

bool follow_collective(ViewState& state, Scene const& scene, float rows_height) {
  if (!state.selection) return false;
  auto const* const facts = scene.collective_of(*state.selection);
  if (facts == nullptr) return false;

  auto const& all = facts->participants;
  size_t at = 0;
  auto const selected = scene.store->place_of(scene, *state.selection);
  auto const is_selected = [&](analyzer::CollectiveStats::Participant const& participant) {
    if (participant.ref.rank_index != static_cast<int32_t>(state.selection->rank)) return false;
    auto const of = scene.store->place_of(scene, scene.selection_of(participant));
    return of && selected && of->row == selected->row && of->track == selected->track &&
           of->start == selected->start;
  };

  while (at < all.size() && !is_selected(all[at])) ++at;
  auto const& next = all[(at + 1) % all.size()];
  if (next.ref.rank_index < 0) return false;

  select(state, scene, scene.selection_of(next));
  model::Interval const when = scene.when(*state.selection);
  if (static_cast<double>(when.end) < state.window.begin ||
      static_cast<double>(when.begin) > state.window.end)
    frame(state, scene, when);
  if (auto const node = scene.node_of(*state.selection)) reveal(state, scene, *node, rows_height);
  return true;
}

void show_same_name(ViewState& state, Scene const& scene, Selection found) {
  select(state, scene, found);
  model::Interval const when = scene.when(found);
  if (static_cast<double>(when.begin) >= state.window.begin &&
      static_cast<double>(when.end) <= state.window.end)
    return;
  double const middle = static_cast<double>(when.begin) + static_cast<double>(when.length()) / 2;
  double const half = std::max(state.window.span(), static_cast<double>(when.length()) * 1.25) / 2;
  go_to(state, scene, {middle - half, middle + half});
}

bool step_same_name(ViewState& state, Scene const& scene, int direction) {
  if (!state.selection || state.selection->what != Selection::What::kEvent) return false;
  auto const at = scene.find(*state.selection);
  std::optional<std::string> name;
  if (at) name = at->trace->name(at->row);
  if (scene.store->reads_files()) {
    // What was read around it may leave out what lies between: the frames look for it.
    state.panels.seek = SameNameSeek{*state.selection, direction, std::move(name)};
    return true;
  }

  auto const found =
      scene.store->next_of_name(scene, {*state.selection, direction, std::move(name)}, {});
  if (found.event) show_same_name(state, scene, *found.event);
  return found.event.has_value();
}

bool step_finding(ViewState& state, Scene const& scene, int direction, float rows_height) {
  auto const count = static_cast<int64_t>(scene.analysis.findings.size());
  int64_t next = direction > 0 ? 0 : count - 1;
  if (state.finding) next = int64_t{state.finding->finding} + direction;
  if (next < 0 || next >= count) return false;
  focus_finding(state, scene, {static_cast<uint32_t>(next), 0}, rows_height);
  return true;
}

void mark_selection(ViewState& state, Scene const& scene) {
  if (!state.selection) return;
  model::Interval const when = scene.when(*state.selection);
  state.range = TimeWindow{static_cast<double>(when.begin), static_cast<double>(when.end)};
}

void focus_finding(ViewState& state, Scene const& scene, FindingFocus focus, float rows_height) {
  auto const& findings = scene.analysis.findings;
  if (focus.finding >= findings.size()) return;
  state.finding = focus;
  analyzer::Finding const& finding = findings[focus.finding];
  for (uint32_t i = 0; i < scene.analysis.devices.size(); ++i)
    if (finding.where && scene.analysis.devices[i].ref == *finding.where) state.device = i;
  if (focus.evidence >= finding.evidence.size()) return;
  show_place(state, scene, finding.evidence[focus.evidence], rows_height);
}

void show_place(ViewState& state, Scene const& scene, analyzer::Finding::Evidence const& place,
                float rows_height) {
  // The whole of the surroundings is worth more than the place alone: show it in the middle fifth.
  model::Interval when{scene.to_view(place.when.begin), scene.to_view(place.when.end)};
  double const length = std::max(static_cast<double>(when.length()), kMinSpan);
  auto const begin = static_cast<double>(when.begin);
  go_to(state, scene, {begin - 2 * length, begin + 3 * length});
  if (auto const node = scene.node_of(place)) reveal(state, scene, *node, rows_height);
}

void search_for(ViewState& state, std::string text) {
  state.search = Search{.open = true,
                        .text = std::move(text),
                        .pending = true,
                        .hits = {},
                        .total = 0,
                        .current = {}};
}

void show_hits(ViewState& state, SearchHits const& found) {
  state.search.hits = found.hits;
  state.search.total = found.total;
  state.search.current.reset();
  state.search.pending = false;
}

void show_first_hits(ViewState& state, SearchHits found) {
  // The one that is shown has another place now.
  std::optional<Selection> shown;
  if (state.search.current) shown = state.search.hits[*state.search.current];
  state.search.hits = std::move(found.hits);
  state.search.total = found.total;
  state.search.current.reset();
  if (!shown) return;
  auto const at = std::find(state.search.hits.begin(), state.search.hits.end(), *shown);
  if (at != state.search.hits.end())
    state.search.current = static_cast<uint32_t>(at - state.search.hits.begin());
}

void run_search(ViewState& state, Scene const& scene) {
  show_hits(state, find_hits(scene, state.search.text));
}

void step_search(ViewState& state, Scene const& scene, int direction, float rows_height) {
  Search& search = state.search;
  if (search.hits.empty()) return;

  auto const count = static_cast<int64_t>(search.hits.size());
  if (search.current) {
    search.current = static_cast<uint32_t>((int64_t{*search.current} + direction + count) % count);
  } else {
    // The first hit is the first one that starts in view.
    auto const first =
        std::partition_point(search.hits.begin(), search.hits.end(), [&](Selection const& hit) {
          return static_cast<double>(scene.when(hit).begin) < state.window.begin;
        });
    search.current =
        first == search.hits.end() ? 0U : static_cast<uint32_t>(first - search.hits.begin());
  }

  select(state, scene, search.hits[*search.current]);
  model::Interval const when = scene.when(*state.selection);
  auto const length = static_cast<double>(when.length());

  // Hits must be seen: at least a fiftieth of the window, and in it.
  bool const wide_enough = length * 50 >= state.window.span();
  bool const inside = static_cast<double>(when.begin) >= state.window.begin &&
                      static_cast<double>(when.end) <= state.window.end;
  if (!wide_enough || !inside) {
    double const half =
        std::max(std::min(state.window.span(), std::max(length, 1.0) * 40), length * 1.25) / 2;
    double const middle = static_cast<double>(when.begin) + length / 2;
    go_to(state, scene, {middle - half, middle + half});
  }
  if (auto const node = scene.node_of(*state.selection)) reveal(state, scene, *node, rows_height);
}

void dismiss(ViewState& state) {
  // An answer that is there can wait behind what is open.
  bool const is_open =
      state.panels.finder.open || state.panels.help || state.panels.filter || state.search.open;

  if (state.drag.mode == Drag::Mode::kTrack) {
    state.drag = {};
  } else if (state.panels.seek && !(state.panels.seek->is_over && is_open)) {
    state.panels.seek.reset();
  } else if (state.panels.finder.open) {
    state.panels.finder = {};
  } else if (state.panels.help) {
    state.panels.help = false;
  } else if (state.panels.filter) {
    state.panels.filter = false;
    state.tracks.filter.clear();
  } else if (state.search.open) {
    state.search = {};
  } else if (state.panels.compared) {
    state.panels.compared.reset();
  } else if (state.range) {
    state.range.reset();
  } else if (state.selection) {
    state.selection.reset();
  } else {
    state.finding.reset();
  }
}

}  // namespace stepscope::viewer
