// All-reduces that begin as soon as their gradients are there. The recording does not tell which op
// makes which gradient. Gradients come in the order of the backward pass. How far the
// pass is when a bucket is full lies between the bucket's share of the bytes and its share of the
// number of buckets. Layers with many weights compute for less time a byte. The answer is between
// both, which are its bounds.
#include <algorithm>
#include <unordered_map>

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {
namespace {

/// The backward pass computes for about twice as long as the forward pass: gradients of inputs and
/// of weights.
constexpr double kForwardShare = 1.0 / 3;

/// A participant's begin of a reduction.
struct Reduction {
  uint32_t arrival = 0;  ///< node
  uint64_t bytes = 0;
};

/// The ops of one device in one step.
struct StepOps {
  std::vector<uint32_t> compute;      ///< nodes, by their end
  std::vector<Reduction> reductions;  ///< by when they begin
};

/// The collective that a departure ends.
CollectiveStats const& collective_of(ReplayContext const& context, uint32_t departure) {
  ReplayGraph const& graph = context.graph;
  uint32_t const transfer = graph.source[graph.first_edge[departure]];
  return context.collectives[graph.nodes[transfer].row];
}

bool is_reduction(CollectiveStats const& collective) {
  return collective.op == model::CollectiveOp::kAllReduce ||
         collective.op == model::CollectiveOp::kReduceScatter;
}

std::vector<StepOps> ops_of_steps(ReplayContext const& context) {
  ReplayGraph const& graph = context.graph;
  std::vector<StepOps> steps(graph.steps.size());
  std::unordered_map<uint64_t, uint32_t> arrivals;  // by process and row
  auto const place = [](ReplayNode const& node) {
    return (uint64_t{node.process} << 32U) | node.row;
  };
  for (uint32_t number = 1; number < graph.nodes.size(); ++number)
    if (graph.nodes[number].kind == ReplayNodeKind::kArrival)
      arrivals.emplace(place(graph.nodes[number]), number);

  for (uint32_t number = 1; number < graph.nodes.size(); ++number) {
    ReplayNode const& node = graph.nodes[number];
    if (node.step < 0) continue;
    StepOps& step = steps[static_cast<size_t>(node.step)];
    if (node.kind == ReplayNodeKind::kOp && node.path_class == PathClass::kCompute)
      step.compute.push_back(number);
    if (node.kind != ReplayNodeKind::kDeparture) continue;
    CollectiveStats const& collective = collective_of(context, number);
    if (is_reduction(collective))
      step.reductions.push_back({arrivals.at(place(node)), collective.bytes});
  }

  auto const by_time = [&](uint32_t a, uint32_t b) {
    return context.recorded.over[a] < context.recorded.over[b];
  };
  for (StepOps& step : steps) {
    std::sort(step.compute.begin(), step.compute.end(), by_time);
    std::sort(
        step.reductions.begin(), step.reductions.end(),
        [&](Reduction const& a, Reduction const& b) { return by_time(a.arrival, b.arrival); });
  }
  return steps;
}

/// Where in the host's time a phase of this name was open, by thread of the process.
bool is_launched_in_phase(ReplayContext const& context, ReplayNode const& node,
                          std::vector<Interval> const& phases) {
  auto const& device = context.graph.processes[node.process].devices.front();
  auto const launch = device.launch_of(node.row);
  if (!launch) return false;
  int64_t const start = device.start(*launch);
  auto const phase = std::partition_point(phases.begin(), phases.end(),
                                          [&](Interval const& p) { return p.end <= start; });
  return phase != phases.end() && phase->begin <= start;
}

std::vector<Interval> backward_phases(model::RankTrace const& rank) {
  std::vector<Interval> phases;
  for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
    if (rank.trace.kind(row) == model::EventKind::kPhase && rank.trace.name(row) == "backward")
      phases.push_back(
          {rank.trace.start(row) + rank.offset_ns, rank.trace.end(row) + rank.offset_ns});
  std::sort(phases.begin(), phases.end(),
            [](Interval const& a, Interval const& b) { return a.begin < b.begin; });
  return phases;
}

/// Which part of the time before the first reduction is the backward pass's, and how its ops follow
/// each other.
class BackwardPass {
 public:
  BackwardPass(ReplayContext const& context, StepOps const& step,
               std::vector<Interval> const& phases)
      : step_(step) {
    int64_t const first_arrival = context.recorded.over[step.reductions.front().arrival];
    for (uint32_t const node : step.compute) {
      if (context.recorded.over[node] > first_arrival) break;
      ops_.push_back(node);
    }

    auto const& nodes = context.graph.nodes;
    auto const is_backward = [&](uint32_t node) {
      return is_launched_in_phase(context, nodes[node], phases);
    };
    double done = 0, before = 0;
    bool has_begun = false;
    for (uint32_t const node : ops_) {
      if (!has_begun && is_backward(node)) {
        has_begun = true;
        before = done;
      }
      done += static_cast<double>(context.graph.recorded.own[node]);
      done_.push_back(done);
    }
    begin_ = has_begun ? before : done * kForwardShare;
  }

  /// The op after which so much of the pass is over.
  [[nodiscard]] uint32_t op_at(double share) const {
    double const wanted = begin_ + share * (done_.back() - begin_);
    auto const at = std::lower_bound(done_.begin(), done_.end(), wanted * (1 - 1e-12));
    return ops_[at == done_.end() ? ops_.size() - 1 : static_cast<size_t>(at - done_.begin())];
  }
  [[nodiscard]] bool is_empty() const { return ops_.empty() || done_.back() <= 0; }

 private:
  StepOps const& step_;
  std::vector<uint32_t> ops_;
  std::vector<double> done_;  ///< beside ops_: compute until its end, ns
  double begin_ = 0;
};

/// An arrival begins with the end of another op, and no launch holds it up.
void begin_after(ReplayContext const& context, uint32_t arrival, uint32_t op,
                 ReplayWeights& weights) {
  ReplayGraph const& graph = context.graph;
  bool is_moved = false;
  for (uint32_t e = graph.first_edge[arrival]; e < graph.first_edge[arrival + 1]; ++e) {
    bool const is_of_work =
        graph.edge_kind[e] == ReplayEdge::kWait || graph.edge_kind[e] == ReplayEdge::kLaunch;
    if (!is_of_work) continue;

    if (is_moved) {
      weights.lag[e] = kNoEdge;
      continue;
    }
    weights.source[e] = op;
    weights.lag[e] = std::min<int64_t>(weights.lag[e], graph.typical_lag[e]);
    is_moved = true;
  }
}

/// `by_bytes`: 0 = a bucket's place follows from its number, 1 = from its bytes.
void overlap_step(ReplayContext const& context, StepOps const& step, BackwardPass const& pass,
                  double by_bytes, ReplayWeights& weights) {
  double all = 0;
  for (Reduction const& reduction : step.reductions) all += static_cast<double>(reduction.bytes);

  double so_far = 0;
  auto const count = static_cast<double>(step.reductions.size());
  for (size_t i = 0; i < step.reductions.size(); ++i) {
    so_far += static_cast<double>(step.reductions[i].bytes);
    double const of_count = static_cast<double>(i + 1) / count;
    double const of_bytes = all > 0 ? so_far / all : of_count;
    double const share = by_bytes * of_bytes + (1 - by_bytes) * of_count;
    begin_after(context, step.reductions[i].arrival, pass.op_at(share), weights);
  }
}

}  // namespace

AppliedChange overlap_transfers(WhatIfChange const&, ReplayContext const& context,
                                ReplayWeights& weights) {
  ReplayGraph const& graph = context.graph;
  std::vector<std::vector<Interval>> phases;
  for (ReplayProcess const& process : graph.processes)
    phases.push_back(backward_phases(*process.devices.front().rank));

  AppliedChange applied;
  weights.source = graph.source;
  applied.bounds = {weights, weights};
  for (StepOps const& step : ops_of_steps(context)) {
    if (step.reductions.empty()) continue;
    uint32_t const process = graph.nodes[step.reductions.front().arrival].process;
    BackwardPass const pass(context, step, phases[process]);
    if (pass.is_empty()) continue;

    overlap_step(context, step, pass, 0.5, weights);
    overlap_step(context, step, pass, 0, applied.bounds[0]);
    overlap_step(context, step, pass, 1, applied.bounds[1]);
    applied.changed += step.reductions.size();
  }

  if (applied.changed == 0) applied.select_nothing("no step reduces gradients over ranks");
  return applied;
}

}  // namespace stepscope::analyzer
