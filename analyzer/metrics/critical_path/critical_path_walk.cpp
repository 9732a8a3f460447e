#include "analyzer/metrics/critical_path/critical_path_walk.h"

#include <algorithm>
#include <unordered_set>

namespace stepscope::analyzer {
namespace {

/// The next op, back in time, from which the path jumps, and the instant at which the path comes to
/// it.
struct NextJump {
  uint32_t op = kNoNode;
  int64_t at = 0;
};

/// Every op has one op that the path goes on to: a forest, in which each op's next jump is that of
/// its parent.
class JumpFinder {
 public:
  explicit JumpFinder(DependencyGraph const& graph)
      : graph_(graph), next_(graph.ops.size()), landings_(graph.exits.size()) {
    std::vector<bool> is_jump(graph.ops.size());
    for (CollectiveJoin const& join : graph.joins) is_jump[join.op] = join.is_jump;

    for (uint32_t number = 0; number < graph.ops.size(); ++number) {
      GraphOp const& op = graph.ops[number];
      uint32_t parent = op.waited_for;
      int64_t at = op.ready;

      if (parent == kNoNode && op.launch != kNoNode) {
        parent = landing(graph.launches[op.launch].thread, op.ready);
        if (parent != kNoNode) at = graph.ops[parent].end;
      }

      if (parent != kNoNode) next_[number] = is_jump[parent] ? NextJump{parent, at} : next_[parent];
    }
  }
  [[nodiscard]] NextJump next(uint32_t op) const { return next_[op]; }

 private:
  static constexpr uint32_t kUnknown = kNoNode - 1;

  /// The device op to which the path goes from a position of the host. What is found for a handover
  /// is kept: paths meet there.
  uint32_t landing(uint32_t thread, int64_t position) {
    std::vector<uint32_t*> passed;
    uint32_t op = kNoNode;
    while (HostExit const* const exit = graph_.exit_of(thread, position)) {
      op = exit->op;
      if (op != kNoNode) break;

      std::vector<uint32_t>& known = landings_[thread];
      if (known.empty()) known.assign(graph_.exits[thread].size(), kUnknown);
      uint32_t& slot = known[static_cast<size_t>(exit - graph_.exits[thread].data())];
      if (slot != kUnknown) {
        op = slot;
        break;
      }

      passed.push_back(&slot);
      thread = exit->thread;
      position = exit->to;
    }

    for (uint32_t* const slot : passed) *slot = op;
    return op;
  }

  DependencyGraph const& graph_;
  std::vector<NextJump> next_;
  std::vector<std::vector<uint32_t>> landings_;  ///< by track, by exit
};

/// Where the path can come into one process by a jump, or begins, and where it leaves from there.
class JumpTable {
 public:
  JumpTable(DependencyGraph const& graph, uint32_t start) : start_(start) {
    JumpFinder const finder(graph);
    next_.reserve(graph.joins.size());
    for (CollectiveJoin const& join : graph.joins) next_.push_back(finder.next(join.op));
    if (start != kNoNode) of_start_ = finder.next(start);
  }
  [[nodiscard]] NextJump next(DependencyGraph const& graph, uint32_t op) const {
    if (op == start_) return of_start_;
    CollectiveJoin const* const join = graph.join_of(op);
    return join == nullptr ? NextJump{} : next_[static_cast<size_t>(join - graph.joins.data())];
  }

 private:
  uint32_t start_;
  NextJump of_start_;
  std::vector<NextJump> next_;  ///< one for each of graph.joins
};

class RouteFinder {
 public:
  RouteFinder(std::vector<DependencyGraph> const& graphs, OpPlace start, int64_t window_begin,
              std::vector<OpPlace> const& last_participants)
      : graphs_(graphs), window_begin_(window_begin), last_participants_(last_participants) {
    for (uint32_t process = 0; process < graphs.size(); ++process)
      tables_.emplace_back(graphs[process], process == start.process ? start.op : kNoNode);
    at_ = {start.process, start.op, graphs[start.process].ops[start.op].end, 0, kNoNode};
  }

  CriticalPathWalk find() && {
    while (at_.from + shift_ > window_begin_ && advance()) {
    }
    // The path runs ahead of the clocks by this: so much of its begin lies before the window.
    route_.clock_cut_ns = -shift_;
    return std::move(route_);
  }

 private:
  /// Adds the stretch that begins at `at_`; false when it is the last one.
  bool advance() {
    DependencyGraph const& graph = graphs_[at_.process];
    int64_t const window_begin = window_begin_ - shift_;  // in the time of this process

    CollectiveJoin const* join = graph.join_of(at_.op);
    NextJump jump{at_.op, at_.from};
    if (join == nullptr || !join->is_jump) {
      jump = tables_[at_.process].next(graph, at_.op);
      join = jump.op == kNoNode ? nullptr : graph.join_of(jump.op);
    }

    at_.until = window_begin;
    PathStretch next;
    // Ranks that contradict each other in the order of collectives could send the path round in a
    // circle.
    bool const goes_on = join != nullptr && jump.at > window_begin &&
                         taken_.insert((uint64_t{at_.process} << 32) | jump.op).second;
    if (goes_on) next = take_jump(*join, jump.at);

    route_.stretches.push_back(at_);
    at_ = next;
    return goes_on;
  }

  /// Ends the stretch at the jump, to which the path comes at `end`, when the last participant was
  /// ready for the transfer; returns where the path goes on there.
  PathStretch take_jump(CollectiveJoin const& join, int64_t end) {
    OpPlace const target = last_participants_[join.collective];
    DependencyGraph const& there = graphs_[target.process];
    int64_t const arrival = there.ops[target.op].start + there.join_of(target.op)->wait_ns;
    int64_t const start = graphs_[at_.process].ops[join.op].start;

    at_.until = std::max(std::min(arrival - shift_, end), window_begin_ - shift_);
    at_.last_op = join.op;
    route_.clock_filled_ns += std::max<int64_t>(start - at_.until, 0);
    shift_ = std::min<int64_t>(end + shift_ - arrival, 0);

    if (arrival + shift_ > window_begin_) {  // else the path has come to its begin
      int64_t const expected = start + join.wait_ns;
      ++route_.jumps;
      route_.clock_disagreement_ns =
          std::max(route_.clock_disagreement_ns, std::max(expected - arrival, arrival - expected));
    }

    return {target.process, target.op, arrival, 0, kNoNode};
  }

  std::vector<DependencyGraph> const& graphs_;
  int64_t window_begin_;
  std::vector<OpPlace> const& last_participants_;
  std::vector<JumpTable> tables_;
  std::unordered_set<uint64_t> taken_;  ///< (process, op) of jumps
  PathStretch at_;
  int64_t shift_ = 0;  ///< time on the path − run time of the process; ≤ 0: what clocks contradict
                       ///< is cut off at the end
  CriticalPathWalk route_;
};

}  // namespace

CriticalPathWalk find_route(std::vector<DependencyGraph> const& graphs, OpPlace start,
                            int64_t window_begin, std::vector<OpPlace> const& last_participants) {
  return RouteFinder(graphs, start, window_begin, last_participants).find();
}

}  // namespace stepscope::analyzer
