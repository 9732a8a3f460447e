#include "analyzer/metrics/critical_path/dependency_graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analyzer/metrics/critical_path/dependency_graph_host.h"
#include "analyzer/metrics/critical_path/dependency_graph_streams.h"
#include "analyzer/metrics/work/copies.h"
#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

using model::Trace;

/// The rows of the device ops by start; of equal starts by what a trace calls its streams, not by
/// how it orders its tracks.
std::vector<uint32_t> rows_in_order(std::span<DeviceOps const> devices) {
  Trace const& trace = devices.front().trace();
  std::vector<uint32_t> rows;
  for (DeviceOps const& device : devices)
    rows.insert(rows.end(), device.ops.begin(), device.ops.end());

  // Order by start; ops of one instant by device, stream and row.
  auto const& start = trace.columns().start;
  auto const by_start = [&](uint32_t a, uint32_t b) { return start[a] < start[b]; };
  if (devices.size() > 1) std::stable_sort(rows.begin(), rows.end(), by_start);

  auto const key = [&](uint32_t row) {
    model::Track const& stream = trace.track(row);
    return std::tuple(stream.device, stream.id, row);
  };

  for (auto first = rows.begin(); first != rows.end();) {
    auto const last = std::find_if(first + 1, rows.end(),
                                   [&](uint32_t row) { return start[row] != start[*first]; });
    if (last - first > 1)
      std::sort(first, last, [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    first = last;
  }

  return rows;
}

void add_ops(std::span<DeviceOps const> devices, DependencyGraph& graph) {
  DeviceOps const& device = devices.front();
  auto const& track = device.trace().columns().track;
  std::vector<uint32_t> last(device.trace().tracks().size(), kNoNode);
  std::vector<uint32_t> const rows = rows_in_order(devices);
  base::reserve_long(graph.ops, rows.size());

  for (uint32_t const row : rows) {
    GraphOp op;
    op.start = device.start(row);
    op.end = device.end(row);
    op.row = row;
    op.stream = track[row].value;

    op.before = last[op.stream];
    last[op.stream] = static_cast<uint32_t>(graph.ops.size());
    graph.ops.push_back(op);
  }
}

/// Returns the launches' rows.
std::vector<uint32_t> add_launches(DeviceOps const& device, DependencyGraph& graph) {
  Trace const& trace = device.trace();
  std::vector<uint32_t> number(trace.event_count(), kNoNode);
  for (GraphOp const& op : graph.ops) {
    auto const launch = device.launch_of(op.row);
    // A launch that began after the op did not launch it: a fault of clocks or of the recording.
    if (launch && device.start(*launch) <= op.start &&
        trace.track(*launch).kind == model::TrackKind::kThread)
      number[*launch] = 0;
  }

  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < number.size(); ++row) {
    if (number[row] == kNoNode) continue;
    number[row] = static_cast<uint32_t>(rows.size());
    rows.push_back(row);
    graph.launches.push_back(
        {device.start(row), device.end(row), trace.columns().track[row].value});
  }

  // A call that waits for its copy launches the copy at its begin.
  std::vector<bool> has_op(rows.size());
  for (GraphOp& op : graph.ops) {
    auto const launch = device.launch_of(op.row);
    if (!launch || device.start(*launch) > op.start) continue;
    op.launch = number[*launch];
    if (op.launch == kNoNode) continue;  // not a call of a thread
    bool const is_first = !has_op[op.launch];
    has_op[op.launch] = true;
    if (!is_first || !waits_for_copy(trace, *launch, op.row)) continue;
    // The rest of the call waits for the copy, and does not hold it up.
    graph.launches[op.launch].end = graph.launches[op.launch].start;
    graph.launches[op.launch].waits_for_copy = true;
  }
  return rows;
}

/// The wait that was over last; of several the one whose op began last.
uint32_t last_of(std::vector<GraphOp> const& ops, std::span<PathWait const> waits) {
  uint32_t best = kNoNode;
  for (PathWait const& wait : waits)
    if (best == kNoNode ||
        std::pair(ops[wait.source].end, wait.source) > std::pair(ops[best].end, best))
      best = wait.source;
  return best;
}

void decide_one(DependencyGraph const& graph, std::span<PathWait const> waits, GraphOp& op) {
  auto const take = [&](int64_t ready, uint32_t source) {
    if (op.ready != kNothingBefore && ready <= op.ready) return;
    op.ready = ready;
    op.waited_for = source;
  };
  if (op.before != kNoNode) take(std::min(graph.ops[op.before].end, op.start), op.before);
  if (uint32_t const source = last_of(graph.ops, waits); source != kNoNode)
    take(graph.ops[source].end, source);
  if (op.launch != kNoNode) take(launched_at(op, graph.launches[op.launch]), kNoNode);
}

/// Decides what each op waited for last. Where records leave a device idle for no reason (most
/// tools do not record what streams wait for), the op of the device that ended last is taken for
/// it.
void decide(std::vector<uint32_t> const& ended_before, DependencyGraph& graph) {
  std::vector<PathWait> guesses;
  auto first = graph.waits.begin();

  for (uint32_t number = 0; number < graph.ops.size(); ++number) {
    GraphOp& op = graph.ops[number];
    auto last = first;
    while (last != graph.waits.end() && last->op == number) ++last;
    decide_one(graph, {first, last}, op);
    first = last;

    uint32_t const guess = ended_before[number];
    if (guess == kNoNode) continue;
    bool const is_open = op.ready == kNothingBefore || op.launch == kNoNode ||
                         op.start - op.ready >= graph.latency_limit_of(op);
    if (!is_open || graph.ops[guess].end <= op.ready) continue;

    op.ready = graph.ops[guess].end;
    op.waited_for = guess;
    op.is_guess = true;
    guesses.push_back({guess, number});
  }

  auto const by_op = [](PathWait const& a, PathWait const& b) { return a.op < b.op; };
  std::vector<PathWait> all(graph.waits.size() + guesses.size());
  std::merge(graph.waits.begin(), graph.waits.end(), guesses.begin(), guesses.end(), all.begin(),
             by_op);
  graph.waits = std::move(all);
}

/// Finds the ops of the joins; joins without one of the device's ops are dropped.
void place_joins(Trace const& trace, std::vector<CollectiveJoin> joins, DependencyGraph& graph) {
  std::sort(joins.begin(), joins.end(),
            [](CollectiveJoin const& a, CollectiveJoin const& b) { return a.row < b.row; });

  for (uint32_t number = 0; number < graph.ops.size(); ++number) {
    uint32_t const row = graph.ops[number].row;
    if (trace.kind(row) != model::EventKind::kCollective) continue;

    auto const at = std::lower_bound(joins.begin(), joins.end(), row,
                                     [](CollectiveJoin const& m, uint32_t r) { return m.row < r; });
    if (at == joins.end() || at->row != row) continue;
    graph.joins.push_back(*at);
    graph.joins.back().op = number;
  }
}

}  // namespace

HostExit const* DependencyGraph::exit_of(uint32_t thread, int64_t position) const {
  std::vector<HostExit> const& all = exits[thread];
  auto const after = std::partition_point(all.begin(), all.end(),
                                          [&](HostExit const& e) { return e.from <= position; });
  return after == all.begin() ? nullptr : &*std::prev(after);
}

CollectiveJoin const* DependencyGraph::join_of(uint32_t op) const {
  auto const at = std::lower_bound(joins.begin(), joins.end(), op,
                                   [](CollectiveJoin const& m, uint32_t o) { return m.op < o; });
  return at == joins.end() || at->op != op ? nullptr : &*at;
}

DependencyGraph make_dependency_graph(std::span<DeviceOps const> devices,
                                      std::vector<std::vector<HostStep>> const& steps,
                                      std::vector<CollectiveJoin> joins,
                                      std::vector<int64_t> latency_limits, int64_t least_wait_ns) {
  DependencyGraph graph;

  graph.latency_limits = std::move(latency_limits);
  graph.rank_index = devices.front().ref.rank_index;
  graph.devices = devices.size();
  graph.exits.resize(devices.front().trace().tracks().size());
  graph.device_of_stream.resize(graph.exits.size());
  for (uint32_t d = 0; d < devices.size(); ++d)
    for (model::TrackId const stream : devices[d].streams) graph.device_of_stream[stream.value] = d;

  add_ops(devices, graph);
  std::vector<uint32_t> const launch_rows = add_launches(devices.front(), graph);
  StreamOps streams(devices, graph);
  graph.waits = find_stream_waits(devices, streams, graph.ops);

  decide(streams.ended_before(), graph);
  find_host_waits(devices.front(), streams, launch_rows, least_wait_ns, graph);
  find_handovers(*devices.front().rank, steps, graph);
  place_joins(devices.front().trace(), std::move(joins), graph);
  return graph;
}

}  // namespace stepscope::analyzer
