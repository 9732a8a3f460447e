#include "analyzer/whatif/replay/process_nodes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "analyzer/metrics/core/quantile.h"
#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

/// Calls return at once while less than this many ops are queued: CUDA's queues hold about 1,020.
constexpr size_t kFullQueue = 1000;
/// A call that takes so many times a typical one has waited.
constexpr int64_t kLongCall = 3;
/// The last blocks of a kernel leave room for another one in the last part of its time.
constexpr int64_t kTailPart = 5;
/// Programs have some dozens. A damaged trace may have so many that each call would look through
/// all of them for ever.
constexpr size_t kMostStreams = 1024;
constexpr uint32_t kNoLocal = std::numeric_limits<uint32_t>::max();

/// Why an op began when it did.
enum class Delay : uint8_t { kBehindLaunch, kBehindOrder, kBehindWait };
constexpr size_t kDelays = 3;

Delay delay_of(GraphOp const& op) {
  if (op.waited_for == kNoNode) return Delay::kBehindLaunch;
  return op.waited_for == op.before ? Delay::kBehindOrder : Delay::kBehindWait;
}

/// The typical delays of a device's ops: the median of each kind.
using TypicalDelays = std::array<int64_t, kDelays>;

std::vector<TypicalDelays> typical_delays(DependencyGraph const& graph) {
  std::vector<std::array<std::vector<int64_t>, kDelays>> seen(graph.devices);
  for (GraphOp const& op : graph.ops) {
    if (op.ready == kNothingBefore) continue;
    auto& of_device = seen[graph.device_of_stream[op.stream]];
    of_device[static_cast<size_t>(delay_of(op))].push_back(op.start - op.ready);
  }

  std::vector<TypicalDelays> typical(graph.devices);
  for (size_t d = 0; d < seen.size(); ++d)
    for (size_t kind = 0; kind < kDelays; ++kind)
      if (!seen[d][kind].empty()) typical[d][kind] = lower_median(seen[d][kind]);
  return typical;
}

PathClass class_of_op(model::EventKind kind) {
  model::OpClass const op_class = model::kind_info(kind).op_class;
  if (op_class == model::OpClass::kComm) return PathClass::kCommunication;
  return op_class == model::OpClass::kCopy ? PathClass::kCopy : PathClass::kCompute;
}

class ProcessNodesBuilder {
 public:
  ProcessNodesBuilder(ReplayProcess const& process, DependencyGraph const& graph, uint32_t number,
                      uint16_t first_device, std::vector<int32_t> const& step_of_row)
      : process_(process),
        graph_(graph),
        trace_(process.devices.front().trace()),
        number_(number),
        first_device_(first_device),
        step_of_row_(step_of_row),
        threads_(trace_.tracks().size()) {}

  ProcessNodes build() && {
    cut_threads();
    number_threads();
    number_ops();
    place_launches();
    find_work_before_launches();
    find_full_queues();

    base::reserve_long(made_.nodes, node_count_);
    base::reserve_long(made_.own, node_count_);
    base::reserve_long(made_.first_edge, node_count_ + 1);
    base::reserve_long(made_.edges, 2 * node_count_);
    for (uint32_t const thread : thread_order_) add_thread(thread);
    typical_ = typical_delays(graph_);
    for (std::vector<uint32_t> const& ops : stream_ops_) add_stream(ops);

    made_.first_edge.push_back(static_cast<uint32_t>(made_.edges.size()));
    made_.chains.push_back(static_cast<uint32_t>(made_.nodes.size()));
    return std::move(made_);
  }

 private:
  struct Thread {
    bool is_used = false;
    std::vector<HostCut> cuts;
    HostStretches stretches;
    uint32_t first_node = 0;  ///< its stretches have the numbers from here on
  };

  /// The stretches of all threads that launch, wait, have steps or hand work over.
  void cut_threads() {
    for (PathLaunch const& launch : graph_.launches) threads_[launch.thread].is_used = true;
    for (PathSync const& sync : graph_.syncs) threads_[sync.thread].is_used = true;

    for (size_t t = 0; t < threads_.size(); ++t) {
      for (HostStep const& step : (*process_.host_steps)[t])
        threads_[t].cuts.push_back({step.when.begin, true, false});
      for (HostExit const& exit : graph_.exits[t]) {
        if (exit.thread == kNoNode) continue;
        threads_[t].is_used = threads_[exit.thread].is_used = true;
        threads_[t].cuts.push_back({exit.to, false, true});
        threads_[exit.thread].cuts.push_back({exit.to, false, false});
      }
    }

    HostClasses classes(trace_);
    for (uint32_t t = 0; t < threads_.size(); ++t) {
      Thread& thread = threads_[t];
      if (!thread.is_used || trace_.tracks()[t].kind != model::TrackKind::kThread) continue;
      std::sort(thread.cuts.begin(), thread.cuts.end());
      thread.stretches =
          host_stretches(*process_.devices.front().rank, model::TrackId{t}, thread.cuts, classes);
    }
  }

  void number_threads() {
    for (uint32_t t = 0; t < threads_.size(); ++t) {
      threads_[t].first_node = node_count_;
      if (threads_[t].stretches.all.empty()) continue;
      thread_order_.push_back(t);
      node_count_ += static_cast<uint32_t>(threads_[t].stretches.all.size());
    }
  }

  void number_ops() {
    stream_ops_.resize(trace_.tracks().size());
    for (uint32_t op = 0; op < graph_.ops.size(); ++op)
      stream_ops_[graph_.ops[op].stream].push_back(op);

    streams_of_.resize(graph_.devices);
    for (uint32_t stream = 0; stream < stream_ops_.size(); ++stream)
      if (!stream_ops_[stream].empty())
        streams_of_[graph_.device_of_stream[stream]].push_back(stream);

    join_of_op_.assign(graph_.ops.size(), nullptr);
    for (CollectiveJoin const& join : graph_.joins) join_of_op_[join.op] = &join;

    first_wait_.assign(graph_.ops.size() + 1, 0);
    for (PathWait const& wait : graph_.waits) ++first_wait_[wait.op + 1];
    for (size_t op = 0; op < graph_.ops.size(); ++op) first_wait_[op + 1] += first_wait_[op];

    node_of_op_.resize(graph_.ops.size());
    for (std::vector<uint32_t> const& ops : stream_ops_) {
      for (uint32_t const op : ops) {
        if (join_of_op_[op] != nullptr) ++node_count_;  // its arrival
        node_of_op_[op] = node_count_++;
      }
    }
  }

  /// The last stretch of a thread that ends until the instant.
  struct Place {
    uint32_t node = kNoLocal;
    int64_t end = 0;
  };
  Place last_ended(uint32_t thread, StretchFinder& finder, int64_t instant) const {
    size_t const ended = finder.count_ended(instant);
    if (ended == 0) return {};
    Thread const& of = threads_[thread];
    return {of.first_node + static_cast<uint32_t>(ended - 1), of.stretches.all[ended - 1].end};
  }
  Place last_ended(uint32_t thread, int64_t instant) const {
    StretchFinder finder(threads_[thread].stretches);
    return last_ended(thread, finder, instant);
  }

  [[nodiscard]] HostStretch const& stretch_at(uint32_t thread, uint32_t node) const {
    return threads_[thread].stretches.all[node - threads_[thread].first_node];
  }

  void place_launches() {
    std::vector<StretchFinder> finders;
    finders.reserve(threads_.size());
    for (Thread const& thread : threads_) finders.emplace_back(thread.stretches);

    launch_places_.reserve(graph_.launches.size());
    for (PathLaunch const& launch : graph_.launches)
      launch_places_.push_back(last_ended(launch.thread, finders[launch.thread], launch.end));
  }

  /// For each launch, the op that computes and was launched last before it by the same thread.
  void find_work_before_launches() {
    std::vector<uint32_t> computing(graph_.launches.size(), kNoNode);
    for (uint32_t op = 0; op < graph_.ops.size(); ++op)
      if (uint32_t const launch = graph_.ops[op].launch;
          launch != kNoNode && class_of_op(trace_.kind(graph_.ops[op].row)) == PathClass::kCompute)
        computing[launch] = op;

    work_before_launch_.assign(graph_.launches.size(), kNoNode);
    for (size_t launch = 1; launch < computing.size(); ++launch) {
      if (graph_.launches[launch - 1].thread != graph_.launches[launch].thread) continue;
      bool const is_new = computing[launch - 1] != kNoNode;
      work_before_launch_[launch] =
          is_new ? computing[launch - 1] : work_before_launch_[launch - 1];
    }
  }

  /// Calls that found the queue of their device full: each waits for an op to begin. What they took
  /// is no work of the host.
  void find_full_queues() {
    std::vector<std::vector<int64_t>> op_starts(graph_.devices);
    std::vector<uint32_t> device_of(graph_.launches.size(), kNoNode);
    for (GraphOp const& op : graph_.ops) {
      op_starts[graph_.device_of_stream[op.stream]].push_back(op.start);
      if (op.launch != kNoNode) device_of[op.launch] = graph_.device_of_stream[op.stream];
    }

    std::vector<std::vector<std::pair<int64_t, uint32_t>>> launches(graph_.devices);
    for (uint32_t launch = 0; launch < device_of.size(); ++launch)
      if (device_of[launch] != kNoNode)
        launches[device_of[launch]].emplace_back(graph_.launches[launch].start, launch);
    for (auto& of_device : launches) std::sort(of_device.begin(), of_device.end());

    std::vector<int64_t> with_room;
    std::vector<uint32_t> without_room;
    for (size_t device = 0; device < launches.size(); ++device) {
      size_t launched = 0, started = 0;
      for (auto const& [start, number] : launches[device]) {
        while (started < op_starts[device].size() && op_starts[device][started] <= start) ++started;
        PathLaunch const& launch = graph_.launches[number];
        bool const is_full = launched++ >= started + kFullQueue;
        if (launch.waits_for_copy) continue;
        if (is_full)
          without_room.push_back(number);
        else
          with_room.push_back(launch.end - launch.start);
      }
    }
    if (without_room.empty() || with_room.empty()) return;

    call_ns_ = lower_median(with_room);
    for (uint32_t const number : without_room) wait_for_room(number);
  }

  void wait_for_room(uint32_t number) {
    PathLaunch const& launch = graph_.launches[number];
    Place const place = launch_places_[number];
    bool const is_long = launch.end - launch.start > kLongCall * call_ns_;
    if (!is_long || place.node == kNoLocal || place.end != launch.end) return;

    auto const later =
        std::partition_point(graph_.ops.begin(), graph_.ops.end(),
                             [&](GraphOp const& op) { return op.start <= launch.end - call_ns_; });
    if (later == graph_.ops.begin()) return;
    GraphOp const& begun = *std::prev(later);
    if (begun.before != kNoNode && begun.start > launch.start)
      room_after_[place.node] = begun.before;
  }

  /// The work whose results a collective or message sends: libraries let their stream wait for what
  /// was launched before. Recordings have such a wait only where it held the stream up.
  [[nodiscard]] uint32_t results_for(GraphOp const& op) const {
    bool const sends =
        op.launch != kNoNode && class_of_op(trace_.kind(op.row)) == PathClass::kCommunication;
    uint32_t const work = sends ? work_before_launch_[op.launch] : kNoNode;
    if (work == kNoNode) return kNoNode;

    GraphOp const& source = graph_.ops[work];
    bool const is_elsewhere =
        source.stream != op.stream &&
        graph_.device_of_stream[source.stream] == graph_.device_of_stream[op.stream];
    return is_elsewhere && source.end <= op.start ? work : kNoNode;
  }

  void begin_node(ReplayNode node, int64_t own) {
    node.process = number_;
    made_.first_edge.push_back(static_cast<uint32_t>(made_.edges.size()));
    made_.nodes.push_back(node);
    made_.own.push_back(own);
  }
  void add_edge(uint32_t source, ReplayEdge kind, int64_t lag) {
    made_.edges.push_back({source, kind, lag, lag});
  }

  /// Which ops a thread's syncs wait for: of every stream in its scope the last that was issued
  /// before the call and was over until its end.
  class SyncSources {
   public:
    SyncSources(ProcessNodesBuilder const& builder) : builder_(builder) {}

    template <class Visit>
    void visit(PathSync const& sync, Visit visit) {
      next_.resize(builder_.stream_ops_.size());
      if (sync.scope == SyncScope::kOp) return visit(sync.scope_number);
      if (sync.scope == SyncScope::kStream) return visit_stream(sync, sync.scope_number, visit);

      for (uint32_t device = 0; device < builder_.streams_of_.size(); ++device) {
        bool const is_in_scope = sync.scope == SyncScope::kProcess || sync.scope_number == device;
        if (!is_in_scope || builder_.streams_of_[device].size() > kMostStreams) continue;
        for (uint32_t const stream : builder_.streams_of_[device])
          visit_stream(sync, stream, visit);
      }
    }

   private:
    template <class Visit>
    void visit_stream(PathSync const& sync, uint32_t stream, Visit& visit) {
      std::vector<uint32_t> const& ops = builder_.stream_ops_[stream];
      size_t& next = next_[stream];
      while (next < ops.size() && builder_.issued_at(ops[next]) < sync.begin) ++next;

      // Clocks and records that contradict this: the op that ended later held nothing.
      size_t last = next;
      while (last > 0 && builder_.graph_.ops[ops[last - 1]].end > sync.end) --last;
      if (last > 0) visit(ops[last - 1]);
    }

    ProcessNodesBuilder const& builder_;
    std::vector<size_t> next_;  ///< by stream: the first op that was not issued before
  };

  [[nodiscard]] int64_t issued_at(uint32_t op) const {
    uint32_t const launch = graph_.ops[op].launch;
    return launch == kNoNode ? graph_.ops[op].start : graph_.launches[launch].start;
  }

  void add_thread(uint32_t track) {
    Thread const& thread = threads_[track];
    made_.chains.push_back(static_cast<uint32_t>(made_.nodes.size()));
    auto const exits = handovers_of(track);
    auto exit = exits.begin();

    auto sync = std::lower_bound(graph_.syncs.begin(), graph_.syncs.end(), track,
                                 [](PathSync const& s, uint32_t t) { return s.thread < t; });
    SyncSources sources(*this);

    for (size_t i = 0; i < thread.stretches.all.size(); ++i) {
      HostStretch const& stretch = thread.stretches.all[i];
      int64_t const begin = thread.stretches.begin_of(i);
      begin_stretch(stretch, track, begin);
      if (i == 0)
        add_edge(kRootSource, ReplayEdge::kRoot, begin);
      else
        add_edge(thread.first_node + static_cast<uint32_t>(i - 1), ReplayEdge::kOrder, 0);

      add_room(stretch.end);
      for (; exit != exits.end() && exit->to <= stretch.end; ++exit)
        if (stretch.waits && exit->to == stretch.end) add_handover(*exit);

      for (; sync != graph_.syncs.end() && sync->thread == track && sync->end <= stretch.end;
           ++sync)
        if (sync->end == stretch.end) add_sync(*sync, begin, sources);
    }
  }

  /// The op before the one that began, and so made room for the call.
  void add_room(int64_t end) {
    auto const room = room_after_.find(static_cast<uint32_t>(made_.nodes.size() - 1));
    if (room == room_after_.end()) return;
    made_.own.back() = call_ns_;
    add_edge(node_of_op_[room->second], ReplayEdge::kQueue,
             end - call_ns_ - graph_.ops[room->second].end);
  }

  void begin_stretch(HostStretch const& stretch, uint32_t track, int64_t begin) {
    ReplayNode node;
    node.kind = ReplayNodeKind::kHost;
    node.path_class = stretch.path_class;
    node.starts_step = stretch.starts_step;
    node.row = stretch.row;
    node.track = track;
    begin_node(node, stretch.waits ? 0 : stretch.end - begin);
  }

  [[nodiscard]] std::vector<HostExit> handovers_of(uint32_t thread) const {
    std::vector<HostExit> result;
    for (HostExit const& exit : graph_.exits[thread])
      if (exit.thread != kNoNode) result.push_back(exit);
    std::sort(result.begin(), result.end(),
              [](HostExit const& a, HostExit const& b) { return a.to < b.to; });
    return result;
  }

  void add_handover(HostExit const& exit) {
    Place giver = last_ended(exit.thread, exit.to);
    // A thread that waits up to this instant itself has nothing to give.
    bool const waits =
        giver.node != kNoLocal && giver.end == exit.to && stretch_at(exit.thread, giver.node).waits;
    if (waits) giver = last_ended(exit.thread, exit.to - 1);
    if (giver.node == kNoLocal)
      add_edge(kRootSource, ReplayEdge::kRoot, exit.to);
    else
      add_edge(giver.node, ReplayEdge::kHandover, exit.to - giver.end);
  }

  /// The stretch that was begun last, at `begin`, ends with the sync.
  void add_sync(PathSync const& sync, int64_t begin, SyncSources& sources) {
    int64_t over = begin;
    sources.visit(sync, [&](uint32_t op) {
      over = std::max(over, graph_.ops[op].end);
      add_edge(node_of_op_[op], ReplayEdge::kSync, 0);
    });
    // Several calls may end at once.
    made_.own.back() = std::min(made_.own.back(), std::max<int64_t>(sync.end - over, 0));
    made_.nodes.back().is_copy_call = made_.nodes.back().path_class == PathClass::kLaunch;
  }

  void add_stream(std::vector<uint32_t> const& ops) {
    if (ops.empty()) return;
    made_.chains.push_back(static_cast<uint32_t>(made_.nodes.size()));
    for (uint32_t const op : ops) add_op(op);
  }

  void add_op(uint32_t number) {
    GraphOp const& op = graph_.ops[number];
    uint32_t const device = graph_.device_of_stream[op.stream];
    CollectiveJoin const* const join = join_of_op_[number];

    ReplayNode node;
    node.kind = join == nullptr ? ReplayNodeKind::kOp : ReplayNodeKind::kArrival;
    node.path_class = class_of_op(trace_.kind(op.row));
    node.device = static_cast<uint16_t>(first_device_ + device);
    node.row = op.row;
    node.track = op.stream;
    if (join == nullptr) node.step = step_of_row_[op.row];

    begin_node(node, join == nullptr ? op.end - op.start : 0);
    add_causes(number, op, typical_[device]);
    if (join != nullptr) add_departure(node, op, *join);
  }

  void add_departure(ReplayNode node, GraphOp const& op, CollectiveJoin const& join) {
    made_.arrivals.push_back({join.collective, static_cast<uint32_t>(made_.nodes.size() - 1),
                              op.start, op.end, join.wait_ns});
    node.kind = ReplayNodeKind::kDeparture;
    node.step = step_of_row_[op.row];
    begin_node(node, 0);
    add_edge(kCollectiveSource + join.collective, ReplayEdge::kCollective, 0);
  }

  /// What the thread had done when the op could begin. An op that begins before its call returns
  /// needs no more than the call's begin: the rest of the call may wait for it.
  [[nodiscard]] Place place_of_launch(GraphOp const& op) const {
    if (op.launch == kNoNode) return {};
    Place const place = launch_places_[op.launch];
    if (place.node == kNoLocal || place.end <= op.start) return place;
    PathLaunch const& launch = graph_.launches[op.launch];
    return last_ended(launch.thread, launch.start);
  }

  /// What the op waited for last has the delay that was seen. All else has the typical one, as far
  /// as the op could have begun so late.
  void add_causes(uint32_t number, GraphOp const& op, TypicalDelays const& typical) {
    size_t const first = made_.edges.size();
    uint32_t const crowding = crowding_op(op);
    std::optional<Delay> const binding =
        crowding == kNoNode ? std::optional(delay_of(op)) : std::nullopt;

    auto const add = [&](uint32_t node, ReplayEdge kind, int64_t over, Delay delay, bool binds) {
      int64_t const seen = op.start - over;
      int64_t const typically = typical[static_cast<size_t>(delay)];
      int64_t const lag = binds ? seen : std::min(seen, typically);
      made_.edges.push_back({node, kind, lag, binds && seen >= 0 ? typically : lag});
    };

    if (op.before != kNoNode)
      add(node_of_op_[op.before], ReplayEdge::kOrder, graph_.ops[op.before].end,
          Delay::kBehindOrder, binding == Delay::kBehindOrder);
    for (PathWait const& wait : waits_of(number))
      add(node_of_op_[wait.source], ReplayEdge::kWait, graph_.ops[wait.source].end,
          Delay::kBehindWait, binding == Delay::kBehindWait && wait.source == op.waited_for);
    if (uint32_t const work = results_for(op); work != kNoNode && work != op.waited_for)
      add(node_of_op_[work], ReplayEdge::kWait, graph_.ops[work].end, Delay::kBehindWait, false);
    if (crowding != kNoNode)
      add_edge(node_of_op_[crowding], ReplayEdge::kWait, op.start - graph_.ops[crowding].end);
    Place const launch = place_of_launch(op);
    if (launch.node != kNoLocal)
      add(launch.node, ReplayEdge::kLaunch, launch.end, Delay::kBehindLaunch,
          binding == Delay::kBehindLaunch);
    bool const is_early = launch.node != kNoLocal && launch.node != launch_places_[op.launch].node;
    if (is_early && binding == Delay::kBehindLaunch)
      made_.edges.back().typical_lag = made_.edges.back().lag;

    bool const is_bound_elsewhere =
        binding == Delay::kBehindLaunch && (op.launch == kNoNode || launch.node == kNoLocal);
    if (made_.edges.size() == first || op.ready == kNothingBefore || is_bound_elsewhere)
      add_edge(kRootSource, ReplayEdge::kRoot, op.start);
  }

  /// An op that is ready begins late where another one leaves it no room on the device: one that
  /// ran all the time and was about to end. None where nothing was late.
  [[nodiscard]] uint32_t crowding_op(GraphOp const& op) const {
    bool const is_late =
        op.ready != kNothingBefore && op.start - op.ready >= graph_.latency_limit_of(op);
    if (!is_late) return kNoNode;

    uint32_t const device = graph_.device_of_stream[op.stream];
    if (streams_of_[device].size() > kMostStreams) return kNoNode;
    uint32_t first_over = kNoNode;
    for (uint32_t const stream : streams_of_[device]) {
      if (stream == op.stream) continue;
      std::vector<uint32_t> const& ops = stream_ops_[stream];
      auto const later = std::partition_point(
          ops.begin(), ops.end(), [&](uint32_t o) { return graph_.ops[o].start <= op.ready; });
      if (later == ops.begin()) continue;

      GraphOp const& other = graph_.ops[*std::prev(later)];
      int64_t const tail =
          std::max<int64_t>(graph_.latency_limit_of(op), (other.end - other.start) / kTailPart);
      bool const crowds = other.end > op.start && other.end - op.start <= tail;
      if (crowds && (first_over == kNoNode || other.end < graph_.ops[first_over].end))
        first_over = *std::prev(later);
    }
    return first_over;
  }

  [[nodiscard]] std::span<PathWait const> waits_of(uint32_t op) const {
    return {graph_.waits.data() + first_wait_[op], graph_.waits.data() + first_wait_[op + 1]};
  }

  ReplayProcess const& process_;
  DependencyGraph const& graph_;
  model::Trace const& trace_;
  uint32_t number_;
  uint16_t first_device_;
  std::vector<int32_t> const& step_of_row_;  ///< of ops

  std::vector<Thread> threads_;                    ///< by track
  std::vector<uint32_t> thread_order_;             ///< those with stretches
  std::vector<std::vector<uint32_t>> stream_ops_;  ///< by track
  std::vector<std::vector<uint32_t>> streams_of_;  ///< by device of the process: those with ops
  std::vector<CollectiveJoin const*> join_of_op_;
  std::vector<uint32_t> first_wait_;  ///< by op, and one more
  std::vector<uint32_t> node_of_op_;  ///< where it ends
  std::vector<Place> launch_places_;  ///< by launch
  int64_t call_ns_ = 0;               ///< a typical launch call that finds room in the queue
  std::unordered_map<uint32_t, uint32_t> room_after_;  ///< by node of a call: op
  std::vector<uint32_t> work_before_launch_;           ///< by launch
  std::vector<TypicalDelays> typical_;                 ///< by device of the process
  uint32_t node_count_ = 0;
  ProcessNodes made_;
};

}  // namespace

ProcessNodes make_process_nodes(ReplayProcess const& process, DependencyGraph const& graph,
                                uint32_t number, uint16_t first_device,
                                std::vector<int32_t> const& step_of_row) {
  return ProcessNodesBuilder(process, graph, number, first_device, step_of_row).build();
}

}  // namespace stepscope::analyzer
