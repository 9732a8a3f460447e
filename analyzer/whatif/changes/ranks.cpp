// Another number of ranks: what their collectives take, and what each rank has to do.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "analyzer/scaling/collective_law.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/work.h"

namespace stepscope::analyzer {
namespace {

/// The collectives of the largest group.
struct GroupTransfers {
  std::vector<ReplayTransfer> transfers;
  uint32_t ranks = 0;
};

GroupTransfers largest_group(ReplayContext const& context) {
  GroupTransfers group;
  group.transfers = transfers_of(context);
  std::erase_if(group.transfers, [](ReplayTransfer const& transfer) {
    return model::is_point_to_point(transfer.op);
  });

  for (ReplayTransfer const& transfer : group.transfers)
    group.ranks = std::max(group.ranks, transfer.participants);
  std::erase_if(group.transfers, [&](ReplayTransfer const& transfer) {
    return transfer.participants != group.ranks;
  });
  return group;
}

void change_group(CollectiveLaw law, GroupTransfers const& group, uint32_t ranks,
                  ReplayContext const& context, ReplayWeights& weights) {
  for (ReplayTransfer const& transfer : group.transfers) {
    int64_t& own = weights.own[transfer.node];
    int64_t const latency = std::min(latency_of(context, transfer).value_or(0), own);
    CollectiveTime const now{static_cast<double>(latency), static_cast<double>(own - latency)};
    own = HowMuch{time_over_ranks(law, transfer.op, now, group.ranks, ranks).total_ns(), {}}.of(1);
  }
}

/// The same batch over another number of ranks. Refuses what the runs do not tell.
void change_share(uint32_t from, uint32_t to, ReplayContext const& context, ReplayWeights& weights,
                  AppliedChange& applied) {
  if (to == from) return;
  if (context.probe == nullptr) {
    applied.refusal =
        "one run does not tell what kernels take with another share of the batch: give a second "
        "run, of the same batch on another number of ranks, with --probe RUN";
    return;
  }
  WorkRatios const& probe = *context.probe;
  if (probe.devices == probe.probe_devices || probe.probe_devices == 0) {
    applied.refusal = fmt::format(
        "the probe has {} devices, as the run: give one of the same batch on another number",
        probe.probe_devices);
    return;
  }

  double const share = static_cast<double>(from) / to;
  double const of_probe =
      static_cast<double>(probe.devices) / static_cast<double>(probe.probe_devices);
  change_work({&WorkRatios::Kernel::step, of_probe, share}, context, weights, applied);
  change_batch_copies(share, context, weights);
}

}  // namespace

AppliedChange change_ranks(WhatIfChange const& change, ReplayContext const& context,
                           ReplayWeights& weights) {
  AppliedChange applied;
  GroupTransfers const group = largest_group(context);
  if (group.ranks < 2) {
    applied.select_nothing("the run has no collective of several ranks");
    return applied;
  }
  if (change.keeps_batch) change_share(group.ranks, change.ranks, context, weights, applied);
  if (!applied.refusal.empty()) return applied;

  // Without measurements at other numbers of ranks, each law may hold.
  if (!change.law) {
    for (CollectiveLaw const law : {CollectiveLaw::kFlat, CollectiveLaw::kRing}) {
      applied.bounds.push_back(weights);
      change_group(law, group, change.ranks, context, applied.bounds.back());
    }
  }
  change_group(change.law.value_or(CollectiveLaw::kNccl), group, change.ranks, context, weights);
  applied.changed += group.transfers.size();

  auto const without_fit =
      std::count_if(group.transfers.begin(), group.transfers.end(),
                    [&](ReplayTransfer const& transfer) { return !latency_of(context, transfer); });
  if (without_fit > 0)
    applied.cautions.push_back(
        fmt::format("{} of {} transfers have one size only: all of their time counts as bandwidth",
                    without_fit, group.transfers.size()));
  applied.cautions.emplace_back(
      change.keeps_batch ? "links as fast as now, and the same batch shared by all ranks"
                         : "links as fast as now, and each rank with the work that it has now");
  return applied;
}

}  // namespace stepscope::analyzer
