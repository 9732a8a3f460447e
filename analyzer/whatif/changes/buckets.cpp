// Gradients that are exchanged in larger buckets.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {
namespace {

/// The step to which a transfer belongs: that of a participant. −1 = none.
std::vector<int64_t> steps_of(ReplayContext const& context,
                              std::vector<ReplayTransfer> const& transfers) {
  ReplayGraph const& graph = context.graph;
  std::vector<int64_t> of_node(graph.nodes.size(), -1);
  for (uint32_t number = 1; number < graph.nodes.size(); ++number) {
    ReplayNode const& node = graph.nodes[number];
    if (node.step < 0) continue;
    int64_t const step = graph.steps[static_cast<size_t>(node.step)].step;
    of_node[number] = step;
    if (node.kind != ReplayNodeKind::kDeparture) continue;
    for (uint32_t e = graph.first_edge[number]; e < graph.first_edge[number + 1]; ++e)
      if (graph.edge_kind[e] == ReplayEdge::kCollective) of_node[graph.source[e]] = step;
  }

  std::vector<int64_t> steps;
  for (ReplayTransfer const& transfer : transfers) steps.push_back(of_node[transfer.node]);
  return steps;
}

/// Transfers of one communicator, device and step in their order.
using BucketKey = std::tuple<uint64_t, int32_t, int64_t>;
std::map<BucketKey, std::vector<ReplayTransfer>> buckets_of(ReplayContext const& context) {
  std::vector<ReplayTransfer> const transfers = transfers_of(context);
  std::vector<int64_t> const steps = steps_of(context, transfers);
  std::map<BucketKey, std::vector<ReplayTransfer>> buckets;

  for (size_t i = 0; i < transfers.size(); ++i) {
    bool const reduces = transfers[i].op == model::CollectiveOp::kAllReduce ||
                         transfers[i].op == model::CollectiveOp::kReduceScatter;
    if (!reduces || steps[i] < 0) continue;
    ReplayNode const& node = context.graph.nodes[transfers[i].node];
    int32_t const device = node.kind == ReplayNodeKind::kOp ? node.device : -1;
    buckets[{transfers[i].communicator, device, steps[i]}].push_back(transfers[i]);
  }

  for (auto& [key, of_step] : buckets)
    std::sort(of_step.begin(), of_step.end(),
              [&](ReplayTransfer const& a, ReplayTransfer const& b) {
                return context.recorded.over[a.node] < context.recorded.over[b.node];
              });
  return buckets;
}

/// A message that goes with another one has no launch of its own.
void drop_launches(ReplayContext const& context, uint32_t transfer, ReplayWeights& weights) {
  ReplayGraph const& graph = context.graph;
  auto const drop = [&](uint32_t op) {
    for (uint32_t e = graph.first_edge[op]; e < graph.first_edge[op + 1]; ++e)
      if (graph.edge_kind[e] == ReplayEdge::kLaunch &&
          graph.nodes[graph.source[e]].path_class == PathClass::kLaunch)
        weights.own[graph.source[e]] = 0;
  };

  if (graph.nodes[transfer].kind == ReplayNodeKind::kOp) return drop(transfer);
  for (uint32_t e = graph.first_edge[transfer]; e < graph.first_edge[transfer + 1]; ++e)
    drop(graph.source[e]);
}

int64_t fitted_ns(LinkFit const& fit, uint64_t bytes) {
  double const ns = std::max(fit.alpha_us, 0.0) * 1e3 + static_cast<double>(bytes) / fit.beta_gbps;
  return HowMuch{ns, {}}.of(1);
}

}  // namespace

AppliedChange merge_transfers(WhatIfChange const& change, ReplayContext const& context,
                              ReplayWeights& weights) {
  AppliedChange applied;
  uint64_t largest = 0;

  for (auto const& [key, transfers] : buckets_of(context)) {
    for (size_t first = 0, last = 0; first < transfers.size(); first = last) {
      uint64_t bytes = 0;
      for (; last < transfers.size(); ++last) {
        ReplayTransfer const& next = transfers[last];
        if (last > first && bytes + next.bytes > change.bytes) break;
        if (next.bytes == 0 || fit_of(context, next) == nullptr) {
          applied.refusal = next.bytes == 0
                                ? "the recording does not tell how large messages are"
                                : "messages of one size do not tell how much of their time is "
                                  "latency: record a run with several sizes";
          return applied;
        }
        bytes += next.bytes;
      }

      largest = std::max(largest, bytes);
      if (last - first < 2) continue;
      for (size_t i = first; i + 1 < last; ++i) {
        weights.own[transfers[i].node] = 0;
        drop_launches(context, transfers[i].node, weights);
      }
      weights.own[transfers[last - 1].node] = fitted_ns(*fit_of(context, transfers[first]), bytes);
      applied.changed += last - first;
    }
  }

  if (applied.changed == 0)
    applied.select_nothing(largest == 0 ? "no step reduces gradients over ranks"
                                        : "no two messages in a row fit in one of this size");
  return applied;
}

}  // namespace stepscope::analyzer
