#include "trace/synth/jobs/exchange.h"

#include <algorithm>

namespace stepscope::synth {
namespace {

constexpr int64_t kTransferJitterPermille = 30;
constexpr int64_t kEndSkewNs = 2'000;
constexpr int64_t kRendezvousNs = 2'500;  // from the last launch to the begin

}  // namespace

void Exchange::begin_step() {
  for (CollectiveJoin& join : joins_) join.clear();
}

void Exchange::settle(std::span<Process> processes, size_t rank) {
  to_settle_.push_back(rank);
  while (!to_settle_.empty()) {
    size_t const next = to_settle_.back();
    to_settle_.pop_back();

    for (uint32_t stream = kFirstCommStream; stream < processes[next].stream_count(); ++stream) {
      auto const offer = processes[next].offer(stream);
      if (!offer) continue;

      CollectiveJoin& join = joins_[offer->spec->join];
      join.push_back({next, stream, *offer});
      if (join.size() < offer->spec->participants) continue;
      conclude(join, processes);
      join.clear();
    }
  }
}

Exchange::Launches Exchange::launches_of(CollectiveJoin const& join) {
  Launches launches;
  for (Arrival const& arrival : join) {
    int64_t const end = arrival.offer.launch_end;
    launches.second = std::max(launches.second, std::min(end, launches.last));
    if (end > launches.last) launches.last_rank = arrival.rank;
    launches.last = std::max(launches.last, end);
  }
  return launches;
}

void Exchange::conclude(CollectiveJoin& join, std::span<Process> processes) {
  Launches const launches = launches_of(join);

  std::vector<Process::Outcome> outcomes;
  int64_t last_begin = 0;

  for (Arrival const& arrival : join) {
    Process::Outcome& outcome = outcomes.emplace_back();
    outcome.peers_launched = arrival.rank == launches.last_rank ? launches.second : launches.last;
    outcome.begin = arrival.offer.begin;
    if (arrival.offer.rendezvous)
      outcome.begin = std::max(outcome.begin, launches.last + kRendezvousNs);
    last_begin = std::max(last_begin, outcome.begin);
  }

  int64_t const end =
      last_begin + random_.vary(join.front().offer.spec->transfer_ns, kTransferJitterPermille);
  int64_t transfer = INT64_MAX;
  for (Process::Outcome& outcome : outcomes) {
    outcome.end = end + random_.vary(kEndSkewNs, 1000);
    transfer = std::min(transfer, outcome.end - outcome.begin);
  }

  for (size_t i = 0; i < join.size(); ++i) {
    outcomes[i].transfer_ns = transfer;
    processes[join[i].rank].conclude(join[i].stream, outcomes[i]);
    to_settle_.push_back(join[i].rank);
  }
}

}  // namespace stepscope::synth
