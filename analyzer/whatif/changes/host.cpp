// Changes of what hosts do: ranges, input, syncs, allocations, launches.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"
#include "trace/base/format.h"

namespace stepscope::analyzer {
namespace {

/// Walks the stretches of every thread in their order.
template <class Visit>
void visit_threads(ReplayGraph const& graph, Visit visit) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> threads;
  std::pair<uint32_t, uint32_t> last{kNoNode, kNoNode};
  std::vector<uint32_t>* of_last = nullptr;
  for (uint32_t number = 1; number < graph.nodes.size(); ++number) {
    ReplayNode const& node = graph.nodes[number];
    if (node.kind != ReplayNodeKind::kHost) continue;
    auto const thread = std::pair(node.process, node.track);
    if (of_last == nullptr || thread != last) of_last = &threads[thread];
    last = thread;
    of_last->push_back(number);
  }

  for (auto const& [thread, nodes] : threads) visit(thread, nodes);
}

/// Stretches of one class. Where they cost nothing they wait for no device either.
AppliedChange change_stretches(WhatIfChange const& change, PathClass path_class,
                               ReplayContext const& context, ReplayWeights& weights) {
  AppliedChange applied;
  bool const is_gone = change.how.of(1000) == 0;

  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    if (node.kind != ReplayNodeKind::kHost || node.path_class != path_class) continue;
    weights.own[number] = change.how.of(weights.own[number]);
    if (is_gone) cut_edges(context.graph, number, ReplayEdge::kSync, weights);
    ++applied.changed;
  }
  return applied;
}

/// Syncs but the last of each step: reading a step's result is what most programs wait for once.
AppliedChange remove_syncs(ReplayContext const& context, ReplayWeights& weights) {
  AppliedChange applied;
  auto const& nodes = context.graph.nodes;

  visit_threads(context.graph, [&](auto, std::vector<uint32_t> const& thread) {
    std::vector<uint32_t> of_step;
    auto const end_step = [&] {
      // A call may be in several pieces.
      uint32_t const last = of_step.empty() ? kNoNode : nodes[of_step.back()].row;
      for (uint32_t const number : of_step) {
        if (nodes[number].row == last) break;
        weights.own[number] = 0;
        cut_edges(context.graph, number, ReplayEdge::kSync, weights);
        ++applied.changed;
      }
      of_step.clear();
    };

    for (uint32_t const number : thread) {
      if (nodes[number].starts_step) end_step();
      if (nodes[number].path_class == PathClass::kSync) of_step.push_back(number);
    }
    end_step();
  });

  if (applied.changed == 0)
    applied.select_nothing(
        "no step has a call that waits for the device, but for the last one of it");
  return applied;
}

/// What the host does from one launch to the next of a step, and the calls themselves: a graph that
/// is launched at once has none of it.
AppliedChange change_launches(WhatIfChange const& change, ReplayContext const& context,
                              ReplayWeights& weights) {
  AppliedChange applied;
  auto const& nodes = context.graph.nodes;

  visit_threads(context.graph, [&](auto, std::vector<uint32_t> const& thread) {
    bool is_behind_launch = false;
    std::vector<uint32_t> between;
    for (uint32_t const number : thread) {
      ReplayNode const& node = nodes[number];
      if (node.starts_step) {
        is_behind_launch = false;
        between.clear();
      }
      bool const is_own_work = node.path_class == PathClass::kHost && !node.starts_step;
      if (is_own_work && is_behind_launch) between.push_back(number);
      if (is_own_work) continue;

      bool const is_launch = node.path_class == PathClass::kLaunch && !node.is_copy_call;
      if (is_launch) between.push_back(number);
      for (uint32_t const changed : is_launch ? between : std::vector<uint32_t>())
        weights.own[changed] = change.how.of(weights.own[changed]);
      applied.changed += is_launch ? between.size() : 0;
      between.clear();
      is_behind_launch = is_launch;
    }
  });

  if (applied.changed == 0) applied.select_nothing("no launch was recorded");
  return applied;
}

/// Where ranges of a name are open on a thread, disjoint and by time.
std::vector<Interval> ranges_of(model::RankTrace const& rank, uint32_t track,
                                std::string const& name) {
  std::vector<Interval> found;
  model::Trace::Rows const rows = rank.trace.rows_of(model::TrackId{track});
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    model::EventKind const kind = rank.trace.kind(row);
    bool const is_range = model::is_range(kind) || kind == model::EventKind::kInputWait;
    if (!is_range || rank.trace.name(row) != name) continue;

    Interval const when{rank.trace.start(row) + rank.offset_ns,
                        rank.trace.end(row) + rank.offset_ns};
    if (!found.empty() && when.begin <= found.back().end)
      found.back().end = std::max(found.back().end, when.end);
    else
      found.push_back(when);
  }
  return found;
}

/// Own time of a thread's stretches inside of the ranges.
uint64_t change_in_ranges(WhatIfChange const& change, ReplayContext const& context,
                          std::vector<uint32_t> const& thread, std::vector<Interval> const& ranges,
                          ReplayWeights& weights) {
  uint64_t changed = 0;
  auto range = ranges.begin();
  for (uint32_t const number : thread) {
    ReplayNode const& node = context.graph.nodes[number];
    int64_t const end = context.recorded.over[number];
    int64_t& own = weights.own[number];
    int64_t const begin = end - own;
    while (range != ranges.end() && range->end <= begin) ++range;

    bool const is_own_work =
        node.path_class == PathClass::kHost || node.path_class == PathClass::kInput;
    if (!is_own_work) continue;
    int64_t inside = 0;
    for (auto at = range; at != ranges.end() && at->begin < end; ++at)
      inside += std::max<int64_t>(std::min(end, at->end) - std::max(begin, at->begin), 0);
    if (inside == 0) continue;
    own = own - inside + change.how.of(inside);
    ++changed;
  }
  return changed;
}

std::string no_such_range(WhatIfChange const& change, ReplayContext const& context) {
  constexpr size_t kMostListedBytes = 60;
  std::set<std::string> names;
  for (ReplayProcess const& process : context.graph.processes) {
    model::Trace const& trace = process.devices.front().trace();
    std::vector<bool> is_known(trace.strings().size());
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      uint32_t const name = trace.columns().name[row].value;
      if (is_known[name] || !model::is_range(trace.kind(row))) continue;
      is_known[name] = true;
      names.emplace(trace.name(row));
    }
  }
  if (names.empty()) return "the run has no ranges";
  if (names.contains(change.selector))
    return "its threads launch nothing and wait for no device: no step is longer for it";

  constexpr size_t kMostNames = 4;
  std::vector<std::string> listed;
  for (std::string const& name : names) {
    if (listed.size() == kMostNames) break;
    listed.push_back(base::printable(base::valid_utf8(name, kMostListedBytes)));
  }
  return fmt::format("no range has this name; there are {}{}", fmt::join(listed, ", "),
                     names.size() > kMostNames ? ", …" : "");
}

AppliedChange change_ranges(WhatIfChange const& change, ReplayContext const& context,
                            ReplayWeights& weights) {
  AppliedChange applied;
  visit_threads(context.graph, [&](auto thread, std::vector<uint32_t> const& nodes) {
    auto const& [process, track] = thread;
    model::RankTrace const& rank = *context.graph.processes[process].devices.front().rank;
    std::vector<Interval> const ranges = ranges_of(rank, track, change.selector);
    if (!ranges.empty())
      applied.changed += change_in_ranges(change, context, nodes, ranges, weights);
  });

  if (applied.changed == 0) applied.select_nothing(no_such_range(change, context));
  return applied;
}

}  // namespace

AppliedChange change_host(WhatIfChange const& change, ReplayContext const& context,
                          ReplayWeights& weights) {
  if (change.kind == ChangeKind::kHostRange) return change_ranges(change, context, weights);
  if (change.kind == ChangeKind::kSync) return remove_syncs(context, weights);
  if (change.kind == ChangeKind::kLaunch) return change_launches(change, context, weights);

  bool const is_input = change.kind == ChangeKind::kInput;
  AppliedChange applied = change_stretches(
      change, is_input ? PathClass::kInput : PathClass::kAllocation, context, weights);
  if (applied.changed == 0)
    applied.select_nothing(is_input ? "the host never waits for input"
                                    : "the host neither allocates nor frees device memory");
  return applied;
}

}  // namespace stepscope::analyzer
