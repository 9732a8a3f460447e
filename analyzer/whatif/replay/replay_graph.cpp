#include "analyzer/whatif/replay/replay_graph.h"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>

#include "analyzer/metrics/critical_path/dependency_graphs.h"
#include "analyzer/whatif/replay/process_nodes.h"

namespace stepscope::analyzer {
namespace {

/// The steps of all devices, and to which of them each device op belongs.
class ReplaySteps {
 public:
  ReplaySteps(ReplayInput const& input, std::vector<PathProcess> const& processes)
      : input_(input), step_of_row_(processes.size()) {
    for (size_t p = 0; p < processes.size(); ++p) {
      step_of_row_[p].assign(processes[p].front().trace().event_count(), -1);
      for (DeviceOps const& device : processes[p]) add_device(device, step_of_row_[p]);
    }
  }
  std::vector<ReplayStep> take() && { return std::move(steps_); }
  [[nodiscard]] std::vector<int32_t> const& of_rows(size_t process) const {
    return step_of_row_[process];
  }

 private:
  void add_device(DeviceOps const& device, std::vector<int32_t>& step_of_row) {
    auto const chosen =
        std::lower_bound(input_.chosen.begin(), input_.chosen.end(), device.ref,
                         [](DeviceStats const& d, DeviceRef ref) { return d.ref < ref; });
    if (chosen == input_.chosen.end() || chosen->ref != device.ref) return;
    auto const& periods = input_.periods[static_cast<size_t>(chosen - input_.chosen.begin())];

    auto const first = static_cast<int32_t>(steps_.size());
    DeviceSteps const assigned = assign_steps(device, input_.host_steps, 0);
    if (assigned.steps.empty()) {
      add_whole(device, periods, step_of_row);
      return;
    }

    for (size_t i = 0; i < assigned.steps.size(); ++i) add_step(assigned.steps, i, periods);
    for (size_t op = 0; op < device.ops.size(); ++op)
      if (int32_t const step = assigned.step_of_op[op]; step >= 0)
        step_of_row[device.ops[op]] = first + step;
  }

  void add_step(std::vector<StepStats> const& steps, size_t place,
                std::vector<Interval> const& periods) {
    StepStats const& step = steps[place];
    auto period =
        std::lower_bound(periods.begin(), periods.end(), step.window.end,
                         [](Interval const& when, int64_t end) { return when.end < end; });
    // Where several periods have this end, that of an empty step comes last.
    int64_t const earliest = place > 0 ? steps[place - 1].window.end : -model::kMaxTime;
    while (period != periods.end() && period->end == step.window.end && period->begin < earliest)
      ++period;

    ReplayStep added{step.ref, step.step, false, -1, step.window, 0};
    if (period != periods.end() && period->end == step.window.end) {
      added.is_measured = true;
      added.when = *period;
    }
    if (place > 0) {
      added.before = static_cast<int32_t>(steps_.size()) - 1;
      added.lead_ns = added.when.begin - steps[place - 1].window.end;
    }
    steps_.push_back(added);
  }

  /// Without steps the device's whole window counts as one.
  void add_whole(DeviceOps const& device, std::vector<Interval> const& periods,
                 std::vector<int32_t>& step_of_row) {
    if (periods.empty()) return;
    auto const number = static_cast<int32_t>(steps_.size());
    steps_.push_back({device.ref, 0, true, -1, periods.front(), 0});
    for (uint32_t const row : device.ops)
      if (device.end(row) <= periods.front().end) step_of_row[row] = number;
  }

  ReplayInput const& input_;
  std::vector<ReplayStep> steps_;
  std::vector<std::vector<int32_t>> step_of_row_;  ///< by process
};

/// A collective with its participants in the graph.
struct Transfer {
  struct Participant {
    uint32_t process;
    LocalArrival arrival;
  };
  std::vector<Participant> participants;
  int64_t begin = 0;  ///< of the transfer, in the time of the participant that came last
};

std::vector<Transfer> find_transfers(std::vector<ProcessNodes> const& parts, size_t collectives) {
  std::vector<Transfer> transfers(collectives);
  for (uint32_t p = 0; p < parts.size(); ++p)
    for (LocalArrival const& arrival : parts[p].arrivals)
      transfers[arrival.collective].participants.push_back({p, arrival});

  for (Transfer& transfer : transfers) {
    int64_t least_wait = std::numeric_limits<int64_t>::max();
    for (auto const& [process, arrival] : transfer.participants) {
      if (arrival.wait_ns >= least_wait) continue;
      least_wait = arrival.wait_ns;
      transfer.begin = arrival.start + arrival.wait_ns;
    }
  }
  return transfers;
}

/// Joins the nodes of all processes in an order in which each comes behind what it waits for. Runs
/// along the chains; a chain that has to wait for a node is taken up again behind that.
class GraphJoiner {
 public:
  GraphJoiner(std::vector<ProcessNodes> const& parts, std::vector<CollectiveStats> const& stats,
              ReplayGraph& graph)
      : parts_(parts),
        stats_(stats),
        transfers_(find_transfers(parts, stats.size())),
        graph_(graph) {
    number_nodes();
  }

  void join() {
    size_t edges = 1;
    for (ProcessNodes const& part : parts_) edges += part.edges.size();
    reserve(edges + 2 * arrival_count_);

    emit_root();
    for (uint32_t chain = 0; chain < chains_.size(); ++chain) ready_.push_back(chain);
    while (!ready_.empty()) {
      uint32_t const chain = ready_.back();
      ready_.pop_back();
      run(chain);
    }

    graph_.first_edge.push_back(static_cast<uint32_t>(graph_.source.size()));
    graph_.is_whole = graph_.nodes.size() == node_count_;
    if (graph_.is_whole) return;
    std::vector<ReplayStep> steps = std::move(graph_.steps);
    std::vector<ReplayProcess> processes = std::move(graph_.processes);
    graph_ = ReplayGraph{};
    graph_.steps = std::move(steps);
    graph_.processes = std::move(processes);
    emit_root();
    graph_.first_edge.push_back(0);
    graph_.is_whole = false;
  }

 private:
  struct Chain {
    uint32_t part = 0;  ///< parts_.size(): of a collective
    uint32_t next = 0, last = 0;
  };

  void number_nodes() {
    node_count_ = 1;  // the root
    for (ProcessNodes const& part : parts_) {
      base_.push_back(node_count_);
      node_count_ += static_cast<uint32_t>(part.nodes.size());
      arrival_count_ += part.arrivals.size();
    }
    node_of_collective_.assign(transfers_.size(), 0);

    for (uint32_t c = 0; c < transfers_.size(); ++c)
      if (!transfers_[c].participants.empty()) {
        node_of_collective_[c] = node_count_++;
        collectives_.push_back(c);
      }
    position_.assign(node_count_, kNoNode);
    waiting_.assign(node_count_, kNoNode);

    for (uint32_t p = 0; p < parts_.size(); ++p)
      for (size_t c = 0; c + 1 < parts_[p].chains.size(); ++c)
        chains_.push_back({p, parts_[p].chains[c], parts_[p].chains[c + 1]});
    for (uint32_t i = 0; i < collectives_.size(); ++i)
      chains_.push_back({static_cast<uint32_t>(parts_.size()), i, i + 1});
    next_waiting_.assign(chains_.size(), kNoNode);
    // Taken from the back: chains of the first process come first.
    std::reverse(chains_.begin(), chains_.end());
  }

  void reserve(size_t edges) {
    graph_.nodes.reserve(node_count_);
    graph_.first_edge.reserve(node_count_ + 1);
    graph_.recorded.own.reserve(node_count_);
    graph_.source.reserve(edges);
    graph_.edge_kind.reserve(edges);
    graph_.typical_lag.reserve(edges);
    graph_.recorded.lag.reserve(edges);
  }

  void emit_root() {
    position_[0] = 0;
    graph_.first_edge.push_back(0);
    graph_.nodes.emplace_back();
    graph_.recorded.own.push_back(0);
  }

  void run(uint32_t number) {
    Chain& chain = chains_[number];
    bool const is_collective = chain.part == parts_.size();

    for (; chain.next < chain.last; ++chain.next) {
      uint32_t const missing =
          is_collective ? missing_arrival(collectives_[chain.next]) : missing_source(chain);
      if (missing != kNoNode) {
        next_waiting_[number] = std::exchange(waiting_[missing], number);
        return;
      }
      if (is_collective)
        emit_transfer(collectives_[chain.next]);
      else
        emit_node(chain);
    }
  }

  /// A node that comes first and is not there yet.
  [[nodiscard]] uint32_t missing_source(Chain const& chain) const {
    ProcessNodes const& part = parts_[chain.part];
    for (uint32_t e = part.first_edge[chain.next]; e < part.first_edge[chain.next + 1]; ++e) {
      uint32_t const source = global(chain.part, part.edges[e].source);
      if (position_[source] == kNoNode) return source;
    }
    return kNoNode;
  }
  [[nodiscard]] uint32_t missing_arrival(uint32_t collective) const {
    for (auto const& [process, arrival] : transfers_[collective].participants) {
      uint32_t const source = base_[process] + arrival.node;
      if (position_[source] == kNoNode) return source;
    }
    return kNoNode;
  }

  [[nodiscard]] uint32_t global(uint32_t part, uint32_t local) const {
    if (local == kRootSource) return 0;
    if ((local & kCollectiveSource) != 0) return node_of_collective_[local & ~kCollectiveSource];
    return base_[part] + local;
  }

  void emit_node(Chain const& chain) {
    ProcessNodes const& part = parts_[chain.part];
    begin_node(base_[chain.part] + chain.next, part.nodes[chain.next], part.own[chain.next]);

    for (uint32_t e = part.first_edge[chain.next]; e < part.first_edge[chain.next + 1]; ++e) {
      LocalEdge const& edge = part.edges[e];
      add_edge(global(chain.part, edge.source), edge.kind, edge.lag, edge.typical_lag);
    }
    if (part.nodes[chain.next].kind == ReplayNodeKind::kDeparture)
      fit_departure(chain.part, chain.next);
  }

  /// The clock of a participant and that of the transfer differ by what the recording shows.
  void fit_departure(uint32_t part, uint32_t node) {
    auto const& arrivals = parts_[part].arrivals;
    auto const arrival =
        std::lower_bound(arrivals.begin(), arrivals.end(), node - 1,
                         [](LocalArrival const& a, uint32_t n) { return a.node < n; });
    Transfer const& transfer = transfers_[arrival->collective];
    int64_t const over = transfer.begin + stats_[arrival->collective].transfer_ns;
    graph_.recorded.lag.back() = graph_.typical_lag.back() = arrival->end - over;
  }

  void emit_transfer(uint32_t collective) {
    ReplayNode node;
    node.kind = ReplayNodeKind::kTransfer;
    node.path_class = PathClass::kCommunication;
    node.row = collective;
    begin_node(node_of_collective_[collective], node, stats_[collective].transfer_ns);

    Transfer const& transfer = transfers_[collective];
    bool is_bound = false;
    for (auto const& [process, arrival] : transfer.participants) {
      int64_t const clock = transfer.begin - (arrival.start + arrival.wait_ns);
      add_edge(base_[process] + arrival.node, ReplayEdge::kCollective, clock, clock);
      is_bound = is_bound || arrival.wait_ns == 0;
    }
    // All that are in the graph waited for one that is not.
    if (!is_bound) add_edge(0, ReplayEdge::kRoot, transfer.begin, transfer.begin);
  }

  void begin_node(uint32_t number, ReplayNode const& node, int64_t own) {
    position_[number] = static_cast<uint32_t>(graph_.nodes.size());
    graph_.first_edge.push_back(static_cast<uint32_t>(graph_.source.size()));
    graph_.nodes.push_back(node);
    graph_.recorded.own.push_back(own);

    for (uint32_t chain = waiting_[number]; chain != kNoNode; chain = next_waiting_[chain])
      ready_.push_back(chain);
  }

  void add_edge(uint32_t source, ReplayEdge kind, int64_t lag, int64_t typical_lag) {
    graph_.source.push_back(position_[source]);
    graph_.edge_kind.push_back(kind);
    graph_.recorded.lag.push_back(lag);
    graph_.typical_lag.push_back(typical_lag);
  }

  std::vector<ProcessNodes> const& parts_;
  std::vector<CollectiveStats> const& stats_;
  std::vector<Transfer> transfers_;  ///< by collective
  ReplayGraph& graph_;

  uint32_t node_count_ = 0;
  size_t arrival_count_ = 0;
  std::vector<uint32_t> base_;                ///< by part: number of its first node
  std::vector<uint32_t> node_of_collective_;  ///< by collective
  std::vector<uint32_t> collectives_;         ///< those with participants
  std::vector<Chain> chains_;
  std::vector<uint32_t> ready_;         ///< chains
  std::vector<uint32_t> position_;      ///< by node number: its place in the graph
  std::vector<uint32_t> waiting_;       ///< by node number: the first chain that waits for it
  std::vector<uint32_t> next_waiting_;  ///< by chain: the next that waits for the same node
};

}  // namespace

ReplayGraph make_replay_graph(ReplayInput const& input) {
  ProcessGraphs const made = make_process_graphs({input.devices,
                                                  input.host_steps,
                                                  input.collectives,
                                                  input.chosen,
                                                  input.launch_latency_limit_ns,
                                                  {}});
  ReplaySteps steps(input, made.processes);
  ReplayGraph result;

  std::vector<uint16_t> first_device;
  uint16_t devices = 0;
  for (PathProcess const process : made.processes) {
    auto const rank_index = static_cast<size_t>(process.front().ref.rank_index);
    result.processes.push_back({process, &input.host_steps.threads[rank_index]});
    first_device.push_back(devices);
    devices = static_cast<uint16_t>(devices + process.size());
  }

  std::vector<ProcessNodes> parts(made.processes.size());
  tbb::parallel_for(size_t{0}, parts.size(), [&](size_t p) {
    parts[p] = make_process_nodes(result.processes[p], made.graphs[p], static_cast<uint32_t>(p),
                                  first_device[p], steps.of_rows(p));
  });

  result.steps = std::move(steps).take();
  GraphJoiner(parts, input.collectives, result).join();
  return result;
}

}  // namespace stepscope::analyzer
