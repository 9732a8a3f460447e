#include "analyzer/whatif/replay/graph_joiner.h"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>

#include "trace/base/huge_pages.h"

namespace stepscope::analyzer {
namespace {

/// A collective with its participants in the graph.
struct Transfer {
  struct Participant {
    uint32_t process;
    LocalArrival arrival;
  };
  std::vector<Participant> participants;
  int64_t begin = 0;  ///< of the transfer, in the time of the participant that came last
  /// All that are in the graph waited for one that is not.
  bool waits_elsewhere = false;
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
    transfer.waits_elsewhere =
        std::none_of(transfer.participants.begin(), transfer.participants.end(),
                     [](auto const& participant) { return participant.arrival.wait_ns == 0; });
  }
  return transfers;
}

/// One numbering of all nodes: the root is 0, then those of each part, then the transfers.
struct JoinedNodes {
  JoinedNodes(std::vector<ProcessNodes> const& of_parts, std::vector<CollectiveStats> const& of)
      : parts(of_parts), stats(of), transfers(find_transfers(of_parts, of.size())) {
    for (ProcessNodes const& part : parts) {
      base.push_back(count);
      count += static_cast<uint32_t>(part.nodes.size());
    }

    node_of_collective.assign(transfers.size(), 0);
    for (uint32_t c = 0; c < transfers.size(); ++c) {
      if (transfers[c].participants.empty()) continue;
      node_of_collective[c] = count++;
      collectives.push_back(c);
    }
  }

  [[nodiscard]] uint32_t number_of(uint32_t part, uint32_t source) const {
    if (source == kRootSource) return 0;
    if ((source & kCollectiveSource) != 0) return node_of_collective[source & ~kCollectiveSource];
    return base[part] + source;
  }

  std::vector<ProcessNodes> const& parts;
  std::vector<CollectiveStats> const& stats;
  std::vector<Transfer> transfers;           ///< by collective
  std::vector<uint32_t> base;                ///< by part: number of its first node
  std::vector<uint32_t> node_of_collective;  ///< by collective
  std::vector<uint32_t> collectives;         ///< those with participants
  uint32_t count = 1;
};

/// Nodes of a chain that follow each other in the graph.
struct Segment {
  uint32_t part = 0;  ///< the number of parts: of a collective
  uint32_t first = 0, last = 0;
  uint32_t position = 0, edge = 0;  ///< in the graph, of its first node
};
/// So many nodes of a chain are filled at once at most, so that all cores have work.
constexpr uint32_t kSegmentNodes = 1U << 14U;

/// Finds an order in which each node comes behind what it waits for. Runs along the chains; a chain
/// that has to wait for a node is taken up again behind that.
class NodeOrder {
 public:
  explicit NodeOrder(JoinedNodes const& joined) : joined_(joined) {
    base::reserve_long(position_, joined.count);
    base::reserve_long(waiting_, joined.count);
    position_.assign(joined.count, kNoNode);
    waiting_.assign(joined.count, kNoNode);
    position_[0] = 0;

    auto const parts = static_cast<uint32_t>(joined.parts.size());
    for (uint32_t p = 0; p < parts; ++p)
      for (size_t c = 0; c + 1 < joined.parts[p].chains.size(); ++c)
        chains_.push_back({p, joined.parts[p].chains[c], joined.parts[p].chains[c + 1]});
    for (uint32_t i = 0; i < joined.collectives.size(); ++i) chains_.push_back({parts, i, i + 1});
    next_waiting_.assign(chains_.size(), kNoNode);
    // Taken from the back: chains of the first process come first.
    std::reverse(chains_.begin(), chains_.end());
  }

  void find() {
    for (uint32_t chain = 0; chain < chains_.size(); ++chain) ready_.push_back(chain);
    while (!ready_.empty()) {
      uint32_t const chain = ready_.back();
      ready_.pop_back();
      run(chain);
    }
  }

  [[nodiscard]] bool is_whole() const { return nodes_ == joined_.count; }
  [[nodiscard]] uint32_t edges() const { return edges_; }
  [[nodiscard]] std::vector<Segment> const& segments() const { return segments_; }
  /// The place in the graph of each node number.
  [[nodiscard]] std::vector<uint32_t> const& positions() const { return position_; }

 private:
  struct Chain {
    uint32_t part = 0;  ///< the number of parts: of a collective
    uint32_t next = 0, last = 0;
  };

  /// Takes the nodes of a chain up to the first that has to wait.
  void run(uint32_t number) {
    Chain& chain = chains_[number];
    if (chain.part == joined_.parts.size()) return take_transfer(number);

    while (chain.next < chain.last) {
      Segment segment{chain.part, chain.next, chain.next, nodes_, edges_};
      uint32_t const end = chain.next + std::min(chain.last - chain.next, kSegmentNodes);
      uint32_t missing = kNoNode;
      for (; chain.next < end; ++chain.next) {
        missing = missing_source(chain);
        if (missing != kNoNode) break;
        place(joined_.base[chain.part] + chain.next);
      }

      segment.last = chain.next;
      if (segment.last > segment.first) close(segment);
      if (missing != kNoNode) return wait_for(missing, number);
    }
  }

  void take_transfer(uint32_t number) {
    Chain& chain = chains_[number];
    uint32_t const collective = joined_.collectives[chain.next];
    Transfer const& transfer = joined_.transfers[collective];
    for (auto const& [process, arrival] : transfer.participants) {
      uint32_t const source = joined_.base[process] + arrival.node;
      if (position_[source] == kNoNode) return wait_for(source, number);
    }

    segments_.push_back({chain.part, collective, collective + 1, nodes_, edges_});
    place(joined_.node_of_collective[collective]);
    edges_ += static_cast<uint32_t>(transfer.participants.size()) +
              static_cast<uint32_t>(transfer.waits_elsewhere);
  }

  void close(Segment const& segment) {
    auto const& first_edge = joined_.parts[segment.part].first_edge;
    edges_ += first_edge[segment.last] - first_edge[segment.first];
    segments_.push_back(segment);
  }

  /// A node that the next one of the chain waits for, and that has no place yet.
  [[nodiscard]] uint32_t missing_source(Chain const& chain) const {
    ProcessNodes const& part = joined_.parts[chain.part];
    for (uint32_t e = part.first_edge[chain.next]; e < part.first_edge[chain.next + 1]; ++e) {
      uint32_t const source = joined_.number_of(chain.part, part.edges[e].source);
      if (position_[source] == kNoNode) return source;
    }
    return kNoNode;
  }

  void wait_for(uint32_t node, uint32_t chain) {
    next_waiting_[chain] = std::exchange(waiting_[node], chain);
  }

  void place(uint32_t number) {
    position_[number] = nodes_++;
    for (uint32_t chain = waiting_[number]; chain != kNoNode; chain = next_waiting_[chain])
      ready_.push_back(chain);
  }

  JoinedNodes const& joined_;
  std::vector<Chain> chains_;
  std::vector<uint32_t> ready_;  ///< chains
  std::vector<uint32_t> position_;
  std::vector<uint32_t> waiting_;       ///< by node number: the first chain that waits for it
  std::vector<uint32_t> next_waiting_;  ///< by chain: the next that waits for the same node
  std::vector<Segment> segments_;
  uint32_t nodes_ = 1, edges_ = 0;  ///< placed: the root has its place
};

/// Writes the nodes and edges of segments to their places. Segments share nothing.
class SegmentFiller {
 public:
  SegmentFiller(JoinedNodes const& joined, std::vector<uint32_t> const& positions,
                ReplayGraph& graph)
      : joined_(joined), positions_(positions), graph_(graph) {}

  void fill(Segment const& segment) const {
    if (segment.part == joined_.parts.size())
      fill_transfer(segment);
    else
      fill_part(segment);
  }

 private:
  void fill_part(Segment const& segment) const {
    ProcessNodes const& part = joined_.parts[segment.part];
    uint32_t position = segment.position, at = segment.edge;

    for (uint32_t node = segment.first; node < segment.last; ++node, ++position) {
      graph_.nodes[position] = part.nodes[node];
      graph_.step_of_node[position] = part.nodes[node].step;
      graph_.recorded.own[position] = part.own[node];
      graph_.first_edge[position] = at;
      for (uint32_t e = part.first_edge[node]; e < part.first_edge[node + 1]; ++e) {
        LocalEdge const& edge = part.edges[e];
        fill_edge(at++, joined_.number_of(segment.part, edge.source), edge.kind, edge.lag,
                  edge.typical_lag);
      }

      if (part.nodes[node].kind == ReplayNodeKind::kDeparture)
        fit_departure(segment.part, node, at - 1);
    }
  }

  /// The clock of a participant and that of the transfer differ by what the recording shows.
  void fit_departure(uint32_t part, uint32_t node, uint32_t edge) const {
    auto const& arrivals = joined_.parts[part].arrivals;
    auto const arrival =
        std::lower_bound(arrivals.begin(), arrivals.end(), node - 1,
                         [](LocalArrival const& a, uint32_t n) { return a.node < n; });
    int64_t const over = joined_.transfers[arrival->collective].begin +
                         joined_.stats[arrival->collective].transfer_ns;
    graph_.recorded.lag[edge] = graph_.typical_lag[edge] = arrival->end - over;
  }

  void fill_transfer(Segment const& segment) const {
    Transfer const& transfer = joined_.transfers[segment.first];
    ReplayNode node;
    node.kind = ReplayNodeKind::kTransfer;
    node.path_class = PathClass::kCommunication;
    node.row = segment.first;

    graph_.nodes[segment.position] = node;
    graph_.step_of_node[segment.position] = node.step;
    graph_.recorded.own[segment.position] = joined_.stats[segment.first].transfer_ns;
    uint32_t at = segment.edge;
    graph_.first_edge[segment.position] = at;
    for (auto const& [process, arrival] : transfer.participants) {
      int64_t const clock = transfer.begin - (arrival.start + arrival.wait_ns);
      fill_edge(at++, joined_.base[process] + arrival.node, ReplayEdge::kCollective, clock, clock);
    }
    if (transfer.waits_elsewhere)
      fill_edge(at, 0, ReplayEdge::kRoot, transfer.begin, transfer.begin);
  }

  void fill_edge(uint32_t at, uint32_t source, ReplayEdge kind, int64_t lag,
                 int64_t typical_lag) const {
    graph_.source[at] = positions_[source];
    graph_.edge_kind[at] = kind;
    graph_.recorded.lag[at] = lag;
    graph_.typical_lag[at] = typical_lag;
  }

  JoinedNodes const& joined_;
  std::vector<uint32_t> const& positions_;
  ReplayGraph& graph_;
};

template <class T>
void resize_long(base::Column<T>& column, size_t count) {
  base::reserve_long(column, count);
  column.resize(count);
}

/// Makes room for so many nodes and edges, and fills the root.
void make_room(ReplayGraph& graph, size_t nodes, size_t edges) {
  resize_long(graph.nodes, nodes);
  resize_long(graph.step_of_node, nodes);
  resize_long(graph.recorded.own, nodes);
  resize_long(graph.first_edge, nodes + 1);
  resize_long(graph.source, edges);
  resize_long(graph.edge_kind, edges);
  resize_long(graph.recorded.lag, edges);
  resize_long(graph.typical_lag, edges);

  graph.nodes[0] = ReplayNode{};
  graph.step_of_node[0] = graph.nodes[0].step;
  graph.recorded.own[0] = 0;
  graph.first_edge[0] = 0;
  graph.first_edge[nodes] = static_cast<uint32_t>(edges);
}

}  // namespace

void join_nodes(std::vector<ProcessNodes> const& parts, std::vector<CollectiveStats> const& stats,
                ReplayGraph& graph) {
  JoinedNodes const joined(parts, stats);
  NodeOrder order(joined);
  order.find();
  graph.is_whole = order.is_whole();
  if (!graph.is_whole) return make_room(graph, 1, 0);

  make_room(graph, joined.count, order.edges());
  SegmentFiller const filler(joined, order.positions(), graph);
  tbb::parallel_for(size_t{0}, order.segments().size(),
                    [&](size_t s) { filler.fill(order.segments()[s]); });
}

}  // namespace stepscope::analyzer
