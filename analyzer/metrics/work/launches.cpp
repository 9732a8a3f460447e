#include "analyzer/metrics/work/launches.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/core/saturate.h"
#include "trace/base/column.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

bool is_first_op(RowView const& rows, uint32_t launch, uint32_t op) {
  return rows.link(launch).value == op;
}

/// The instants at which launches begin to wait and stop waiting: in a stream, or on the whole
/// device.
struct Waiting {
  base::Column<int64_t> begins, ends;
  size_t count = 0;
  uint64_t launches = 0;
};

/// Merges what is in order by pieces, as the calls of several threads are. O(n log pieces).
template <class Values>
void sort_pieces(Values& values) {
  std::vector<size_t> ends;  // of the pieces
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] < values[i - 1]) ends.push_back(i);
  if (ends.empty()) return;
  ends.push_back(values.size());

  auto const at = [&](size_t place) { return values.begin() + static_cast<ptrdiff_t>(place); };

  while (ends.size() > 1) {
    std::vector<size_t> merged;
    size_t first = 0;
    for (size_t i = 0; i < ends.size(); i += 2) {
      size_t const last = ends[std::min(i + 1, ends.size() - 1)];
      std::inplace_merge(at(first), at(ends[i]), at(last));
      merged.push_back(last);
      first = last;
    }
    ends.swap(merged);
  }
}

/// Depth over time, by both lists in order. An op that starts at the instant of another's launch
/// leaves first.
QueueStats measure_queue(Waiting& waiting, Interval window) {
  sort_pieces(waiting.begins);
  sort_pieces(waiting.ends);

  QueueStats facts;
  double depth_time = 0;
  int64_t empty = 0, now = window.begin, depth = 0, max_depth = 0;
  auto const advance = [&](int64_t until) {
    int64_t const passed = std::max<int64_t>(std::min(until, window.end) - now, 0);
    depth_time += static_cast<double>(depth) * static_cast<double>(passed);
    empty += depth == 0 ? passed : 0;
    now += passed;
  };

  // Without a branch, as no predictor knows whether a launch or a start comes next. When the last
  // op starts, all are launched.
  size_t begin = 0, end = 0;
  while (begin < waiting.begins.size()) {
    int64_t const next_begin = waiting.begins[begin], next_end = waiting.ends[end];
    bool const leaves = next_end <= next_begin;
    advance(leaves ? next_end : next_begin);
    depth += leaves ? -1 : 1;
    max_depth = std::max(max_depth, depth);
    end += leaves ? 1 : 0;
    begin += leaves ? 0 : 1;
  }

  for (; end < waiting.ends.size(); ++end, --depth) advance(waiting.ends[end]);
  facts.max_depth = static_cast<uint64_t>(max_depth);
  advance(window.end);

  if (window.length() > 0) {
    facts.mean_depth = depth_time / static_cast<double>(window.length());
    facts.empty_share = static_cast<double>(empty) / static_cast<double>(window.length());
  }
  return facts;
}

/// The launch calls, each with the first op that it launched. Times `called` and `started` are the
/// begins of the call and of the op, `track` is the op's. Latencies last from the return of the
/// call to the start of the op.
struct Calls {
  base::Column<int64_t> called, started, durations, latencies;
  base::Column<model::TrackId> track;
  [[nodiscard]] size_t size() const { return called.size(); }
  void resize(size_t count) {
    for (auto* const column : {&called, &started, &durations, &latencies}) column->resize(count);
    track.resize(count);
  }
};

Calls find_calls(RowView const& rows, std::vector<LaunchedOp> const& launched) {
  Calls calls;
  calls.resize(launched.size());
  size_t count = 0;
  for (auto const [launch, op] : launched) {
    if (!is_first_op(rows, launch, op)) continue;
    int64_t const called = rows.start(launch), duration = rows.dur(launch),
                  started = rows.start(op);
    calls.called[count] = called;
    calls.started[count] = started;
    calls.durations[count] = duration;
    calls.latencies[count] = started - (called + duration);
    calls.track[count] = rows.track(op);
    ++count;
  }

  calls.resize(count);
  return calls;
}

void add_queues(model::Trace const& trace, Calls const& calls, Interval window,
                LaunchStats& facts) {
  std::vector<Waiting> streams(trace.tracks().size());
  for (model::TrackId const track : calls.track) ++streams[track.value].launches;
  for (Waiting& stream : streams) {
    stream.begins.resize(stream.launches);
    stream.ends.resize(stream.launches);
  }

  Waiting all;
  all.begins.resize(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    int64_t const called = calls.called[i], started = calls.started[i];
    if (called >= started) continue;  // the trace's fault, which ImportLog counts
    Waiting& stream = streams[calls.track[i].value];
    stream.begins[stream.count] = called;
    stream.ends[stream.count++] = started;
    all.begins[all.count++] = called;
  }

  all.begins.resize(all.count);
  for (Waiting& stream : streams) {
    stream.begins.resize(stream.count);
    stream.ends.resize(stream.count);
  }
  all.ends.reserve(all.count);
  // A stream runs its ops in the order of their calls, the device does not.
  for (Waiting const& stream : streams)
    all.ends.insert(all.ends.end(), stream.ends.begin(), stream.ends.end());

  facts.queue = measure_queue(all, window);
  for (size_t track = 0; track < streams.size(); ++track)
    if (streams[track].launches > 0)
      facts.streams.push_back({trace.tracks()[track].id, streams[track].launches,
                               measure_queue(streams[track], window)});
  std::stable_sort(facts.streams.begin(), facts.streams.end(),
                   [](StreamQueue const& a, StreamQueue const& b) { return a.stream < b.stream; });
}

/// Calls per measured step: by where their first ops start.
std::optional<double> calls_per_step(DeviceOps const& device, std::vector<uint32_t> const& rows,
                                     std::vector<StepStats> const& steps) {
  std::vector<Interval> windows;
  for (StepStats const& step : steps)
    if (!step.warmup) windows.push_back(step.window);
  if (windows.empty()) return std::nullopt;

  base::Column<int64_t> starts(rows.size());
  size_t count = 0;
  RowView const view = device.rows();
  for (uint32_t const row : rows)
    if (model::EventId const launch = view.link(row);
        launch.valid() && is_first_op(view, launch.value, row))
      starts[count++] = view.start(row);
  starts.resize(count);

  uint64_t calls = 0;
  for (Interval const& window : windows) {
    auto const first = std::lower_bound(starts.begin(), starts.end(), window.begin);
    calls += static_cast<uint64_t>(
        std::lower_bound(first, starts.end(), std::max(window.begin, window.end)) - first);
  }
  return static_cast<double>(calls) / static_cast<double>(windows.size());
}

/// The number of the graph that launched an op; 0 = none.
uint32_t graph_of(model::Trace const& trace, uint32_t row) {
  switch (model::kind_info(trace.kind(row)).table) {
    case model::DetailTable::kKernels:
      return trace.detail<model::KernelDetail>(row).graph;
    case model::DetailTable::kCopies:
      return trace.detail<model::CopyDetail>(row).graph;
    case model::DetailTable::kCollectives:
      return trace.detail<model::CollectiveDetail>(row).graph;
    default:
      return 0;
  }
}
uint64_t graph_node_of(model::Trace const& trace, uint32_t row) {
  switch (model::kind_info(trace.kind(row)).table) {
    case model::DetailTable::kKernels:
      return trace.detail<model::KernelDetail>(row).graph_node;
    case model::DetailTable::kCopies:
      return trace.detail<model::CopyDetail>(row).graph_node;
    case model::DetailTable::kCollectives:
      return trace.detail<model::CollectiveDetail>(row).graph_node;
    default:
      return 0;
  }
}

/// An op of a graph. Without a launch in the trace the correlation tells which launch it is of.
struct CudaGraphOp {
  uint32_t graph;
  uint32_t launch;  ///< its row; kNoLaunch = not in the trace
  uint64_t correlation;
  uint32_t row;
};
constexpr uint32_t kNoLaunch = UINT32_MAX;

std::vector<CudaGraphOp> graph_ops(DeviceOps const& device, std::vector<uint32_t> const& rows) {
  model::Trace const& trace = device.trace();
  std::vector<CudaGraphOp> ops;
  if (!trace.may_have_graphs()) return ops;
  for (uint32_t const row : rows)
    if (uint32_t const graph = graph_of(trace, row); graph != 0)
      ops.push_back({graph, device.launch_of(row).value_or(kNoLaunch),
                     trace.columns().correlation[row], row});

  // Rows are by start; so are they within a launch after this.
  std::stable_sort(ops.begin(), ops.end(), [](CudaGraphOp const& a, CudaGraphOp const& b) {
    return std::tie(a.graph, a.launch, a.correlation) < std::tie(b.graph, b.launch, b.correlation);
  });
  return ops;
}

/// Ops first..last − 1 are all of one graph.
GraphStats graph_row(DeviceOps const& device, CudaGraphOp const* first, CudaGraphOp const* last) {
  model::Trace const& trace = device.trace();
  GraphStats facts;
  facts.ref = device.ref;
  facts.graph = first->graph;
  facts.ops = static_cast<uint64_t>(last - first);

  std::vector<uint64_t> nodes;
  CudaGraphOp const* previous = nullptr;
  int64_t end = 0;  // of the launch's ops so far
  for (CudaGraphOp const* op = first; op != last; previous = op++) {
    Interval const when = device.when(op->row);
    bool const is_new = previous == nullptr || previous->launch != op->launch ||
                        previous->correlation != op->correlation;
    if (is_new && op->launch != kNoLaunch) ++facts.launches;
    bool const has_launch = op->launch != kNoLaunch || op->correlation != 0;
    if (!is_new && has_launch && when.begin > end) add_saturated(facts.gap_ns, when.begin - end);
    end = is_new ? when.end : std::max(end, when.end);
    add_saturated(facts.total_ns, when.length());
    if (uint64_t const node = graph_node_of(trace, op->row); node != 0) nodes.push_back(node);
  }

  std::sort(nodes.begin(), nodes.end());
  if (!nodes.empty())
    facts.nodes = static_cast<uint64_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
  return facts;
}

}  // namespace

std::vector<LaunchedOp> launched_ops(DeviceOps const& device, std::vector<uint32_t> const& rows) {
  std::vector<LaunchedOp> result;
  result.reserve(rows.size());
  RowView const view = device.rows();
  auto const add = [&](uint32_t row) {
    if (model::EventId const launch = view.link(row); launch.valid())
      result.push_back({launch.value, row});
  };

  if (rows.size() == device.ops.size()) {
    // Stream after stream: a stream's ops are in the order of their calls, but for those of further
    // threads.
    for (model::TrackId const stream : device.streams) {
      model::Trace::Rows const all = device.trace().rows_of(stream);
      for (uint32_t row = all.first; row < all.last; ++row)
        if (view.is_op(row)) add(row);
    }
  } else {
    for (uint32_t const row : rows) add(row);
  }

  sort_pieces(result);
  return result;
}

LaunchStats launch_facts(DeviceOps const& device, std::vector<uint32_t> const& rows,
                         std::vector<LaunchedOp> const& launched, Interval window,
                         std::vector<StepStats> const& steps) {
  RowView const view = device.rows();
  LaunchStats facts;
  Calls calls = find_calls(view, launched);

  base::Column<int64_t> kernels(rows.size());
  size_t count = 0;
  for (uint32_t const row : rows) {
    kernels[count] = view.dur(row);
    count += view.kind(row) == EventKind::kKernel ? 1 : 0;
  }
  kernels.resize(count);

  facts.calls = calls.size();
  if (!kernels.empty()) facts.kernel_median_ns = quantile(kernels, 50);
  if (calls.size() == 0) return facts;

  for (int64_t const latency : calls.latencies) facts.negative_latencies += latency < 0 ? 1 : 0;
  Distribution const latency = distribution(calls.latencies);
  facts.latency_median_ns = latency.median;
  facts.latency_p95_ns = latency.p95;
  facts.latency_max_ns = latency.most;
  facts.call_median_ns = quantile(calls.durations, 50);

  facts.calls_per_step = calls_per_step(device, rows, steps);
  add_queues(device.trace(), calls, window, facts);
  return facts;
}

void add_graph_totals(std::vector<GraphStats> const& graphs, int64_t all_ns, LaunchStats& facts) {
  int64_t of_graphs = 0;
  for (GraphStats const& graph : graphs) {
    facts.graph_ops += graph.ops;
    facts.graph_launches += graph.launches;
    add_saturated(of_graphs, graph.total_ns);
  }
  if (!graphs.empty() && all_ns > 0)
    facts.graph_share = static_cast<double>(of_graphs) / static_cast<double>(all_ns);
}

std::vector<GraphStats> graph_table(DeviceOps const& device, std::vector<uint32_t> const& rows) {
  std::vector<CudaGraphOp> const ops = graph_ops(device, rows);
  std::vector<GraphStats> result;
  for (size_t first = 0, last = 0; first < ops.size(); first = last) {
    while (last < ops.size() && ops[last].graph == ops[first].graph) ++last;
    result.push_back(graph_row(device, ops.data() + first, ops.data() + last));
  }

  std::sort(result.begin(), result.end(), [](GraphStats const& a, GraphStats const& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.graph < b.graph;
  });
  if (result.size() <= kMostGraphs) return result;

  GraphStats rest;
  rest.ref = device.ref;
  for (size_t i = kMostGraphs; i < result.size(); ++i) {
    rest.launches += result[i].launches;
    rest.ops += result[i].ops;
    add_saturated(rest.total_ns, result[i].total_ns);
    add_saturated(rest.gap_ns, result[i].gap_ns);
  }
  result.resize(kMostGraphs);
  result.push_back(rest);
  return result;
}

}  // namespace stepscope::analyzer
