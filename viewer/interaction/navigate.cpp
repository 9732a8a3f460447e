#include "viewer/interaction/navigate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "viewer/event_store/event_store.h"
#include "viewer/queries/step_comparison.h"

namespace stepscope::viewer {
namespace {

/// The surroundings of a place are worth more than the place alone: it has a fifth of the window.
/// It is in the middle, unless the run begins or ends soon.
void frame_place(ViewState& state, Scene const& scene, analyzer::Finding::Evidence const& place) {
  model::Interval const when{scene.to_view(place.when.begin), scene.to_view(place.when.end)};
  double const length = std::max(static_cast<double>(when.length()), kMinSpan);
  auto const begin = static_cast<double>(when.begin);
  go_inside(state, scene, {begin - 2 * length, begin + 3 * length});
}

}  // namespace

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
  auto const found = scene.store->next_of_name_at_once(scene, {*state.selection, direction, name});
  if (!found) {
    // Another thread looks for it.
    state.panels.seek = SameNameSeek{*state.selection, direction, std::move(name)};
    return true;
  }

  if (found->event) show_same_name(state, scene, *found->event);
  return found->event.has_value();
}

bool step_finding(ViewState& state, Scene const& scene, int direction, float rows_height) {
  auto const count = static_cast<int64_t>(scene.analysis.findings.size());
  int64_t next = direction > 0 ? 0 : count - 1;
  if (state.finding) next = int64_t{state.finding->finding} + direction;
  if (next < 0 || next >= count) return false;
  focus_finding(state, scene, {static_cast<uint32_t>(next), 0}, rows_height);
  return true;
}

void step_place(ViewState& state, Scene const& scene, int direction, float rows_height) {
  if (!state.finding || state.finding->finding >= scene.analysis.findings.size()) return;
  auto const& places = scene.analysis.findings[state.finding->finding].evidence;
  if (places.empty()) return;

  auto const count = static_cast<int64_t>(places.size());
  int64_t const next = (int64_t{state.finding->evidence} + direction + count) % count;
  focus_finding(state, scene, {state.finding->finding, static_cast<uint32_t>(next)}, rows_height);
}

namespace {

TimeWindow window_of(Scene const& scene, analyzer::StepPeriod const& step) {
  return {static_cast<double>(scene.to_view(step.when.begin)),
          static_cast<double>(scene.to_view(step.when.end))};
}

/// The first bar that does not end before the middle of the window; of one step that of the chosen
/// device. All of them may: then it is their number.
size_t step_at_middle(Scene const& scene, ViewState const& state, StepBars const& bars) {
  auto const is_before = [&](analyzer::StepPeriod const& step) {
    if (bars.is_one_step) return scene.device_of(step.step->ref).value_or(0) < state.device;
    return window_of(scene, step).end <= (state.window.begin + state.window.end) / 2;
  };
  auto const found = std::partition_point(bars.steps.begin(), bars.steps.end(), is_before);
  return static_cast<size_t>(found - bars.steps.begin());
}

/// Which bar follows in that direction; of many that are seen the first or the last of them.
int64_t next_step(Scene const& scene, ViewState const& state, StepBars const& bars, int direction) {
  auto const count = static_cast<int64_t>(bars.steps.size());
  auto const at = static_cast<int64_t>(step_at_middle(scene, state, bars));
  if (bars.is_one_step) return at + direction;

  TimeWindow const near =
      window_of(scene, bars.steps[static_cast<size_t>(std::min(at, count - 1))]);
  constexpr double kMostShown = 2.5;  // in lengths of a step: more than that are many
  if (state.window.span() <= kMostShown * near.span()) {
    bool const is_inside = at < count && near.begin <= (state.window.begin + state.window.end) / 2;
    return direction > 0 && !is_inside ? at : at + direction;
  }

  double const limit = direction > 0 ? state.window.begin : state.window.end;
  auto const found = std::partition_point(
      bars.steps.begin(), bars.steps.end(),
      [&](analyzer::StepPeriod const& step) { return window_of(scene, step).begin < limit; });
  return found - bars.steps.begin() - (direction > 0 ? 0 : 1);
}

}  // namespace

bool go_to_step(ViewState& state, Scene const& scene, int direction) {
  StepBars const bars = step_bars(scene, state.device);
  if (bars.steps.empty()) return false;
  int64_t const next = next_step(scene, state, bars, direction);
  if (next < 0 || next >= static_cast<int64_t>(bars.steps.size())) return false;

  analyzer::StepPeriod const& step = bars.steps[static_cast<size_t>(next)];
  state.device = scene.device_of(step.step->ref).value_or(state.device);
  frame(state, scene, {scene.to_view(step.when.begin), scene.to_view(step.when.end)});
  return true;
}

void compare_step(ViewState& state, Scene const& scene) {
  StepBars const bars = step_bars(scene, state.device);
  if (bars.steps.empty()) return;
  size_t const last = bars.steps.size() - 1;
  analyzer::StepPeriod const& step = bars.steps[std::min(step_at_middle(scene, state, bars), last)];
  state.panels.compared = static_cast<uint32_t>(step.step - scene.analysis.steps.data());
  state.panels.tab = Tab::kStatistics;
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
  if (finding.where) state.device = scene.device_of(*finding.where).value_or(state.device);
  if (focus.evidence >= finding.evidence.size()) return;

  analyzer::Finding::Evidence const& place = finding.evidence[focus.evidence];
  auto const cause = cause_elsewhere(scene, finding);
  auto const node = scene.node_of(place);
  if (!cause || !node) return show_place(state, scene, place, rows_height);

  // Ranks stay as they are: a closed one is a row of its device's time, and both are seen.
  frame_place(state, scene, place);
  scroll_to(state, scene, std::array{*node, *cause}, rows_height);
}

void show_place(ViewState& state, Scene const& scene, analyzer::Finding::Evidence const& place,
                float rows_height) {
  frame_place(state, scene, place);
  auto const node = scene.node_of(place);
  if (!node) return;
  reveal(state, scene, *node, rows_height);
  // A stretch of a thread says little without the device that it left idle.
  if (auto const device = scene.node_of_device(place.ref))
    scroll_to(state, scene, std::array{*node, *device}, rows_height);
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
  } else if (state.panels.keys != KeyPlace::kTimeline) {
    if (!state.panels.keys_left_table) state.panels.keys = KeyPlace::kTimeline;
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
