// Changes of what collectives and messages take: t = latency + bytes / bandwidth.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {
namespace {

bool is_selected(WhatIfChange const& change, ReplayTransfer const& transfer) {
  return change.kind != ChangeKind::kCollective || change.selector == model::to_string(transfer.op);
}

std::string nothing_to_change(WhatIfChange const& change,
                              std::vector<ReplayTransfer> const& transfers) {
  if (transfers.empty()) return "the run has no communication";
  std::vector<std::string> ops;
  for (ReplayTransfer const& transfer : transfers) ops.emplace_back(model::to_string(transfer.op));
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return fmt::format("no collective is {}; there are {}", change.selector, fmt::join(ops, ", "));
}

}  // namespace

std::vector<ReplayTransfer> transfers_of(ReplayContext const& context) {
  std::vector<ReplayTransfer> transfers;

  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    if (node.kind == ReplayNodeKind::kTransfer) {
      CollectiveStats const& stats = context.collectives[node.row];
      auto const seen = static_cast<uint32_t>(stats.participants.size());
      transfers.push_back({number, stats.op, stats.communicator, stats.bytes,
                           std::max(stats.expected_participants, seen)});
    } else if (node.kind == ReplayNodeKind::kOp && node.path_class == PathClass::kCommunication) {
      model::Trace const& trace = trace_of(context, node);
      if (trace.kind(node.row) != model::EventKind::kCollective) continue;
      auto const& detail = trace.detail<model::CollectiveDetail>(node.row);
      transfers.push_back(
          {number, detail.op, detail.communicator, detail.bytes, detail.participants});
    }
  }
  return transfers;
}

LinkFit const* fit_of(ReplayContext const& context, ReplayTransfer const& transfer) {
  for (LinkFit const& fit : context.links)
    if (fit.communicator == transfer.communicator && fit.op == transfer.op) return &fit;
  return nullptr;
}

std::optional<int64_t> latency_of(ReplayContext const& context, ReplayTransfer const& transfer) {
  LinkFit const* const fit = fit_of(context, transfer);
  if (fit == nullptr) return std::nullopt;
  return static_cast<int64_t>(std::max(fit->alpha_us, 0.0) * 1e3);
}

AppliedChange change_transfers(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights) {
  std::vector<ReplayTransfer> const transfers = transfers_of(context);
  AppliedChange applied;
  size_t without_fit = 0;

  for (ReplayTransfer const& transfer : transfers) {
    if (!is_selected(change, transfer)) continue;
    int64_t& own = weights.own[transfer.node];
    std::optional<int64_t> const fitted = latency_of(context, transfer);
    int64_t const latency = std::min(fitted.value_or(0), own);

    if (change.kind == ChangeKind::kCollective) {
      own = change.how.of(own);
    } else if (change.kind == ChangeKind::kBandwidth) {
      own = latency + change.how.of(own - latency);
      without_fit += fitted ? 0 : 1;
    } else {
      if (!fitted) {
        applied.refusal =
            "messages of one size do not tell how much of their time is latency: record a run "
            "with several sizes";
        return applied;
      }
      own = own - latency + change.how.of(latency);
    }
    ++applied.changed;
  }

  if (applied.changed == 0) applied.select_nothing(nothing_to_change(change, transfers));
  if (without_fit > 0)
    applied.cautions.push_back(
        fmt::format("{} of {} transfers have one size only: all of their time counts as bandwidth",
                    without_fit, applied.changed));
  return applied;
}

}  // namespace stepscope::analyzer
