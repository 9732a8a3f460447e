#include "viewer/interaction/view_rebase.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "viewer/event_store/event_store.h"
#include "viewer/scene/shown_rows.h"
#include "viewer/scene/track_events.h"

namespace stepscope::viewer {
namespace {

/// A process of a run, whichever of its ranks it is.
using ProcessName = std::tuple<std::string, int32_t, int64_t>;

ProcessName name_of(model::RankTrace const& rank) {
  return {rank.file, rank.trace.info().rank, static_cast<int64_t>(rank.trace.info().process_id)};
}

class Carrier {
 public:
  Carrier(Scene const& before, Scene const& after)
      : before_(before),
        after_(after),
        // Instants of the run stay; what is counted from its first event does not.
        by_(add(before.origin, add(~after.origin, 1))) {
    std::map<ProcessName, uint32_t> ranks;
    for (uint32_t i = 0; i < after.run.ranks.size(); ++i)
      ranks.emplace(name_of(after.run.ranks[i]), i);

    for (model::RankTrace const& rank : before.run.ranks) {
      auto const found = ranks.find(name_of(rank));
      ranks_.push_back(found == ranks.end() ? std::nullopt : std::optional(found->second));
    }

    for (uint32_t i = 0; i < after.nodes.size(); ++i) nodes_.emplace(after.nodes[i].path, i);
  }

  [[nodiscard]] double time(double view_time) const { return view_time + static_cast<double>(by_); }
  [[nodiscard]] int64_t time(int64_t view_time) const { return add(view_time, by_); }
  [[nodiscard]] TimeWindow window(TimeWindow const& of) const {
    return {time(of.begin), time(of.end)};
  }

  [[nodiscard]] std::optional<uint32_t> rank(uint32_t of) const {
    return of < ranks_.size() ? ranks_[of] : std::nullopt;
  }

  [[nodiscard]] std::optional<uint32_t> node(uint32_t of) const {
    if (of >= before_.nodes.size()) return std::nullopt;
    Node const& node = before_.nodes[of];
    auto const to = rank(node.rank);

    // A rank, a device and a track are known by their numbers: their names may change while more is
    // learned of them.
    if (to && node.kind == NodeKind::kRank) return after_.rank_nodes[*to];
    if (to && node.kind == NodeKind::kDevice)
      return after_.node_of_device({static_cast<int32_t>(*to), node.device_number});
    bool const is_track = node.kind == NodeKind::kStream || node.kind == NodeKind::kThread ||
                          node.kind == NodeKind::kCounter;
    if (to && is_track) return after_.node_of_track(*to, node.track);
    auto const found = nodes_.find(node.path);
    return found == nodes_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] std::optional<analyzer::DeviceRef> device(analyzer::DeviceRef ref) const {
    if (ref.rank_index < 0) return std::nullopt;
    auto const to = rank(static_cast<uint32_t>(ref.rank_index));
    if (!to) return std::nullopt;
    ref.rank_index = static_cast<int32_t>(*to);
    return ref;
  }

  [[nodiscard]] std::optional<Selection> selection(Selection const& of) const {
    return of.what == Selection::What::kGap ? gap(of) : event(of);
  }

 private:
  [[nodiscard]] std::optional<Selection> gap(Selection const& of) const {
    if (of.index >= before_.analysis.gaps.size()) return std::nullopt;

    auto const gap = before_.analysis.gaps[of.index];
    auto const ref = device(gap.ref);
    auto const* const gaps = ref ? after_.analysis.gaps.of(*ref) : nullptr;
    if (gaps == nullptr) return std::nullopt;

    size_t const at = gaps->exponential_search(gap.when.begin);
    if (at >= gaps->size() || gaps->when(at).begin != gap.when.begin) return std::nullopt;

    Selection found = of;
    found.rank = static_cast<uint32_t>(ref->rank_index);
    found.index = static_cast<uint32_t>(after_.analysis.gaps.first_of(*ref) + at);
    return found;
  }

  [[nodiscard]] std::optional<Selection> event(Selection const& of) const {
    auto const to = rank(of.rank);
    if (!to) return std::nullopt;
    auto const place = before_.store->place_of(before_, of);
    if (!place || place->track >= after_.trace(*to).tracks().size()) return std::nullopt;
    return after_.store->selection_at(after_, *to, *place);
  }

  Scene const& before_;
  Scene const& after_;
  int64_t by_;
  std::vector<std::optional<uint32_t>> ranks_;
  std::unordered_map<std::string_view, uint32_t> nodes_;  ///< of `after`, by path
};

/// The same rule's finding about the same place.
std::optional<FindingFocus> carried_finding(FindingFocus const& of, Scene const& before,
                                            Scene const& after, Carrier const& carrier) {
  if (of.finding >= before.analysis.findings.size()) return std::nullopt;

  analyzer::Finding const& wanted = before.analysis.findings[of.finding];
  auto const where = wanted.where ? carrier.device(*wanted.where) : std::nullopt;
  auto const& all = after.analysis.findings;

  for (uint32_t i = 0; i < all.size(); ++i)
    if (all[i].rule == wanted.rule && all[i].where == where && all[i].subjects == wanted.subjects)
      return FindingFocus{
          i, all[i].evidence.empty()
                 ? 0U
                 : std::min(of.evidence, static_cast<uint32_t>(all[i].evidence.size()) - 1)};
  return std::nullopt;
}

std::optional<uint32_t> carried_step(uint32_t of, Scene const& before, Scene const& after,
                                     Carrier const& carrier) {
  if (of >= before.analysis.steps.size()) return std::nullopt;

  analyzer::StepStats const& wanted = before.analysis.steps[of];
  auto const ref = carrier.device(wanted.ref);
  auto const& all = after.analysis.steps;

  auto const found = std::find_if(all.begin(), all.end(), [&](analyzer::StepStats const& step) {
    return step.ref == ref && step.step == wanted.step;
  });
  return found == all.end() ? std::nullopt
                            : std::optional(static_cast<uint32_t>(found - all.begin()));
}

uint32_t carried_device(uint32_t of, Scene const& before, Scene const& after,
                        Carrier const& carrier) {
  if (of >= before.analysis.devices.size()) return 0;
  auto const ref = carrier.device(before.analysis.devices[of].ref);
  auto const& all = after.analysis.devices;
  auto const found = std::find_if(all.begin(), all.end(), [&](analyzer::DeviceStats const& device) {
    return device.ref == ref;
  });
  return found == all.end() ? 0 : static_cast<uint32_t>(found - all.begin());
}

/// Who saw the run's end sees it again, as far from the right edge as it was; who saw all of it
/// sees all of it.
TimeWindow carried_window(TimeWindow const& of, Scene const& before, Scene const& after,
                          Carrier const& carrier) {
  auto const old_length = static_cast<double>(before.length);
  auto const new_length = static_cast<double>(after.length);
  // A pixel of a wide screen: the end is at the edge.
  double const slack = of.span() / 2000;
  if (of.end < old_length - slack) return carrier.window(of);
  double const room = of.end - old_length;
  if (of.begin > slack) return {new_length + room - of.span(), new_length + room};
  // What is shown before the run and after it grows with it.
  double const factor = old_length > 0 ? new_length / old_length : 1;
  return {of.begin * factor, new_length + room * factor};
}

void carry_panels(ViewState& state, Scene const& before, Scene const& after,
                  Carrier const& carrier) {
  Panels& panels = state.panels;
  if (panels.memory_at) panels.memory_at = carrier.time(*panels.memory_at);
  if (panels.thread) panels.thread = carrier.node(*panels.thread);
  if (panels.track_menu) panels.track_menu = carrier.node(*panels.track_menu);
  if (panels.compared) panels.compared = carried_step(*panels.compared, before, after, carrier);

  if (panels.flash) {
    auto const node = carrier.node(panels.flash->node);
    panels.flash = node ? std::optional(Flash{*node, panels.flash->seconds}) : std::nullopt;
  }
  panels.seek.reset();
  panels.what_if.nodes.clear();
}

/// Groups that were closed, and, where a run of so many ranks begins with closed ones, those that
/// came.
std::set<uint32_t> carried_closed(std::set<uint32_t> const& of, Scene const& before,
                                  Scene const& after, Carrier const& carrier) {
  std::set<uint32_t> closed = initial_view(after).closed;
  for (uint32_t i = 0; i < before.nodes.size(); ++i)
    if (auto const node = closed.empty() ? std::nullopt : carrier.node(i)) closed.erase(*node);
  for (uint32_t const i : of)
    if (auto const node = carrier.node(i)) closed.insert(*node);
  return closed;
}

}  // namespace

ViewState carried_over(ViewState const& state, Scene const& before, Scene const& after) {
  Carrier const carrier(before, after);
  ViewState next = state;

  next.window = carried_window(state.window, before, after, carrier);
  for (TimeWindow& window : next.history) window = carrier.window(window);
  next.closed = carried_closed(state.closed, before, after, carrier);
  if (state.selection) next.selection = carrier.selection(*state.selection);
  if (state.range) next.range = carrier.window(*state.range);
  if (state.finding) next.finding = carried_finding(*state.finding, before, after, carrier);
  next.device = carried_device(state.device, before, after, carrier);

  next.search.hits.clear();
  next.search.total = 0;
  next.search.current.reset();
  next.search.pending = !state.search.text.empty();

  next.drag.anchor = carrier.time(state.drag.anchor);
  auto const dragged =
      state.drag.mode == Drag::Mode::kTrack ? carrier.node(state.drag.node) : std::optional(0U);
  if (dragged) {
    next.drag.node = *dragged;
  } else {
    next.drag = {};
  }

  carry_panels(next, before, after, carrier);
  for (Note& note : next.notes) note.time_ns = carrier.time(note.time_ns);
  return next;
}

void move_nodes(ViewState& state, std::span<uint32_t const> nodes_now) {
  auto const move = [&](uint32_t& node) {
    if (node < nodes_now.size()) node = nodes_now[node];
  };

  std::set<uint32_t> closed;
  for (uint32_t node : state.closed) {
    move(node);
    closed.insert(node);
  }
  state.closed = std::move(closed);
  state.panels.what_if.nodes.clear();

  if (state.drag.mode == Drag::Mode::kTrack) move(state.drag.node);
  if (state.panels.thread) move(*state.panels.thread);
  if (state.panels.track_menu) move(*state.panels.track_menu);
  if (state.panels.flash) move(state.panels.flash->node);
}

void take_analysis(Scene& scene, ViewState& state, OutOfCoreAnalysis::Result result) {
  auto const rows = shown_rows(scene, state);

  auto const below = std::upper_bound(rows->tops.begin(), rows->tops.end(), state.scroll);
  std::optional<uint32_t> first;
  float hidden = 0;  // of the first row
  if (below != rows->tops.begin() && below != rows->tops.end()) {
    auto const row = static_cast<size_t>(below - rows->tops.begin()) - 1;
    first = rows->tracks[row].node;
    hidden = state.scroll - rows->tops[row];
  }

  std::vector<uint32_t> const nodes_now = take_analysis(scene, std::move(result));
  move_nodes(state, nodes_now);
  if (first) state.scroll = node_extent(scene, state, nodes_now[*first]).first + hidden;
}

}  // namespace stepscope::viewer
