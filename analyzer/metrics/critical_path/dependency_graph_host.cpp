#include "analyzer/metrics/critical_path/dependency_graph_host.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "analyzer/metrics/host/innermost_host_events.h"
#include "analyzer/metrics/work/copies.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::SyncKind;

/// The calls of the host that wait for the device.
class HostWaits {
 public:
  HostWaits(DeviceOps const& device, StreamOps& streams, int64_t least_wait_ns,
            DependencyGraph& graph)
      : device_(device), streams_(streams), least_wait_ns_(least_wait_ns), graph_(graph) {}

  void add_sync(uint32_t row) {
    auto const& detail = device_.trace().detail<model::SyncDetail>(row);
    auto const stream = streams_.stream(detail.device, detail.stream);
    auto const device = streams_.device(detail.device);

    if (detail.sync == SyncKind::kEvent && detail.source_correlation != 0) {
      uint32_t const op =
          stream ? streams_.last_before_call(*stream, detail.source_correlation) : kNoNode;
      if (op != kNoNode) add(row, SyncScope::kOp, op);
      return;
    }

    bool const is_of_stream = detail.sync == SyncKind::kStream || detail.sync == SyncKind::kEvent;
    if (is_of_stream && stream && detail.stream >= 0) return add(row, SyncScope::kStream, *stream);
    if (detail.sync != SyncKind::kEvent && device) return add(row, SyncScope::kDevice, *device);

    // For what it waits is not known. Any op may end while a short call runs, for whatever reason
    // that returns.
    if (detail.sync != SyncKind::kDevice && device_.trace().columns().dur[row] < least_wait_ns_)
      return;
    add(row, SyncScope::kProcess, 0);
  }

  /// A copy whose call returns when it is over: the host waits.
  void add_copy(uint32_t launch_row, uint32_t op) {
    model::Trace const& trace = device_.trace();
    if (waits_for_copy(trace, launch_row, graph_.ops[op].row)) add(launch_row, SyncScope::kOp, op);
  }

  void finish() {
    std::sort(found_.begin(), found_.end(),
              [](Found const& a, Found const& b) { return a.row < b.row; });
    for (Found const& found : found_) graph_.syncs.push_back(found.sync);
  }

 private:
  struct Found {
    uint32_t row;
    PathSync sync;
  };

  void add(uint32_t row, SyncScope scope, uint32_t scope_number) {
    PathSync sync;
    sync.begin = sync.ready = device_.start(row);
    sync.end = device_.end(row);
    sync.thread = device_.trace().columns().track[row].value;
    sync.scope = scope;
    sync.scope_number = scope_number;

    uint32_t const op =
        scope == SyncScope::kOp ? scope_number : streams_.last_ended(scope, scope_number, sync.end);
    if (op != kNoNode && scope == SyncScope::kOp) {
      // It returned before the op was over, or the op took no time: then the op is not what it
      // waited for.
      GraphOp const& waited_for = graph_.ops[op];
      if (waited_for.end > sync.end || waited_for.start == waited_for.end) return;
    }

    if (op != kNoNode && graph_.ops[op].end > sync.begin) {
      sync.ready = graph_.ops[op].end;
      graph_.exits[sync.thread].push_back({sync.ready, sync.ready, op, kNoNode});
    }

    found_.push_back({row, sync});
  }

  DeviceOps const& device_;
  StreamOps& streams_;
  int64_t least_wait_ns_;
  DependencyGraph& graph_;
  std::vector<Found> found_;
};

/// The activity of one thread: begins of all events, and the stretches in which any is open.
struct ThreadActivity {
  std::vector<Interval> events;  ///< by begin
  std::vector<Interval> busy;    ///< disjoint, not touching

  ThreadActivity(model::RankTrace const& rank, uint32_t thread) {
    model::Trace::Rows const rows = rank.trace.rows_of(model::TrackId{thread});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (is_host_activity(rank.trace.kind(row)))
        events.push_back(
            {rank.trace.start(row) + rank.offset_ns, rank.trace.end(row) + rank.offset_ns});

    for (Interval const& event : events) {
      if (busy.empty() || busy.back().end < event.begin)
        busy.push_back(event);
      else
        busy.back().end = std::max(busy.back().end, event.end);
    }
  }
};

/// What a thread without steps may wait for while it does nothing.
struct HandoverThreads {
  uint32_t home = kNoNode;  ///< the thread that has the steps
  ThreadActivity const* of_home = nullptr;
  std::vector<std::pair<int64_t, uint32_t>>
      ends;  ///< by time: when launching threads ended what they did, and which
};

/// Explains the time in which a thread without steps does nothing. If `home` begins something and
/// is still at it, it has given the thread its work. Else the thread has waited for the thread that
/// ended its activity last.
void add_ways_back(ThreadActivity const& idle_thread, uint32_t thread,
                   HandoverThreads const& handover, std::vector<HostExit>& exits) {
  std::vector<Interval> const &begun = handover.of_home->events, &busy = handover.of_home->busy;
  size_t next = 0, next_busy = 0;
  for (size_t i = 0; i < idle_thread.busy.size(); ++i) {
    int64_t const idle_until = idle_thread.busy[i].begin;
    int64_t const idle_from =
        i == 0 ? std::numeric_limits<int64_t>::min() : idle_thread.busy[i - 1].end;

    while (next < begun.size() && begun[next].begin <= idle_until) ++next;
    while (next_busy < busy.size() && busy[next_busy].end < idle_until) ++next_busy;
    bool const is_home_busy = next_busy < busy.size() && busy[next_busy].begin <= idle_until;
    // Strictly back in time: two threads cannot hand each other the same instant for ever.
    if (is_home_busy && next > 0 && begun[next - 1].begin > idle_from) {
      exits.push_back({idle_until + 1, idle_until, kNoNode, handover.home});
      continue;
    }

    auto last = std::upper_bound(handover.ends.begin(), handover.ends.end(), idle_until,
                                 [](int64_t instant, auto const& e) { return instant < e.first; });
    // Its own end is there, too, if it did something that took no time.
    while (last != handover.ends.begin() && std::prev(last)->second == thread &&
           std::prev(last)->first > idle_from)
      --last;
    if (last == handover.ends.begin()) continue;

    auto const [end, giver] = *std::prev(last);
    if (end > idle_from) exits.push_back({end + 1, end, kNoNode, giver});
  }
}

/// While `home` neither begins nor ends the last thing that it began, and the helper ends what it
/// did, `home` waits for the helper.
void add_ways_to_helper(ThreadActivity const& home, ThreadActivity const& helper,
                        uint32_t helper_thread, std::vector<HostExit>& exits) {
  size_t done = 0;  // stretches of the helper that are over

  auto const add_quiet = [&](Interval quiet) {
    while (done < helper.busy.size() && helper.busy[done].end <= quiet.end) ++done;
    bool const is_helper_busy = done < helper.busy.size() && helper.busy[done].begin < quiet.end;
    if (done == 0 || is_helper_busy || helper.busy[done - 1].end <= quiet.begin) return;
    exits.push_back({helper.busy[done - 1].end, helper.busy[done - 1].end, kNoNode, helper_thread});
  };

  for (size_t i = 0; i < home.events.size(); ++i) {
    Interval const& event = home.events[i];
    bool const is_last = i + 1 == home.events.size();
    int64_t const next = is_last ? std::numeric_limits<int64_t>::max() : home.events[i + 1].begin;
    add_quiet({event.begin, std::min(event.end, next)});
    if (event.end < next) add_quiet({event.end, next});
  }
}

/// The thread with, or without, steps that launches most; of equal ones the one with the lowest id.
uint32_t busiest_launcher(model::Trace const& trace, std::vector<size_t> const& launches,
                          std::vector<std::vector<HostStep>> const& steps, bool has_steps) {
  uint32_t best = kNoNode;
  auto const is_better = [&](uint32_t a, uint32_t b) {
    return launches[a] != launches[b] ? launches[a] > launches[b]
                                      : trace.tracks()[a].id < trace.tracks()[b].id;
  };

  for (uint32_t t = 0; t < launches.size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kThread || steps[t].empty() == has_steps)
      continue;
    if (best == kNoNode || is_better(t, best)) best = t;
  }

  return best;
}

}  // namespace

void find_host_waits(DeviceOps const& device, StreamOps& streams,
                     std::vector<uint32_t> const& launch_rows, int64_t least_wait_ns,
                     DependencyGraph& graph) {
  HostWaits waits(device, streams, least_wait_ns, graph);
  model::Trace const& trace = device.trace();

  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    if (trace.tracks()[track].kind != model::TrackKind::kThread) continue;
    model::Trace::Rows const rows = trace.rows_of(model::TrackId{track});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (trace.kind(row) == EventKind::kSync) waits.add_sync(row);
  }

  std::vector<uint32_t> first_op(launch_rows.size(), kNoNode);
  for (uint32_t op = 0; op < graph.ops.size(); ++op)
    if (uint32_t const launch = graph.ops[op].launch;
        launch != kNoNode && first_op[launch] == kNoNode)
      first_op[launch] = op;

  for (size_t launch = 0; launch < launch_rows.size(); ++launch)
    if (first_op[launch] != kNoNode) waits.add_copy(launch_rows[launch], first_op[launch]);

  waits.finish();
}

void find_handovers(model::RankTrace const& rank, std::vector<std::vector<HostStep>> const& steps,
                    DependencyGraph& graph) {
  std::vector<size_t> launches(rank.trace.tracks().size());
  for (PathLaunch const& launch : graph.launches) ++launches[launch.thread];

  uint32_t const home = busiest_launcher(rank.trace, launches, steps, true);
  uint32_t const helper = busiest_launcher(rank.trace, launches, steps, false);
  // Without steps, or where all threads that launch have their own, no thread works for another.
  if (home != kNoNode && helper != kNoNode && launches[helper] > 0) {
    ThreadActivity const of_home(rank, home);
    std::map<uint32_t, ThreadActivity> without_steps;
    HandoverThreads handover{home, &of_home, {}};

    for (uint32_t t = 0; t < launches.size(); ++t) {
      if (launches[t] == 0 || t == home) continue;
      ThreadActivity activity(rank, t);
      for (Interval const& busy : activity.busy) handover.ends.emplace_back(busy.end, t);
      if (steps[t].empty()) without_steps.emplace(t, std::move(activity));
    }

    for (Interval const& busy : of_home.busy) handover.ends.emplace_back(busy.end, home);
    std::sort(handover.ends.begin(), handover.ends.end(), [&](auto const& a, auto const& b) {
      auto const id = [&](uint32_t t) { return rank.trace.tracks()[t].id; };
      return std::tuple(a.first, id(a.second), a.second) <
             std::tuple(b.first, id(b.second), b.second);
    });

    for (auto const& [thread, activity] : without_steps)
      add_ways_back(activity, thread, handover, graph.exits[thread]);
    if (launches[helper] >= launches[home] / kHelperLaunchDivisor)
      add_ways_to_helper(of_home, without_steps.at(helper), helper, graph.exits[home]);
  }

  // At one instant the ends of device ops come last: they are the ones that count.
  auto const key = [](HostExit const& exit) {
    return std::tuple(exit.from, exit.op != kNoNode, exit.op);
  };
  for (std::vector<HostExit>& of_thread : graph.exits)
    std::sort(of_thread.begin(), of_thread.end(),
              [&](HostExit const& a, HostExit const& b) { return key(a) < key(b); });
}

}  // namespace stepscope::analyzer
