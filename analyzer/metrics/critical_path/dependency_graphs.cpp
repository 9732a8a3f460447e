#include "analyzer/metrics/critical_path/dependency_graphs.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include <tbb/parallel_for.h>

namespace stepscope::analyzer {
namespace {

std::vector<PathProcess> chosen_processes(ProcessGraphsInput const& input) {
  std::vector<PathProcess> result;
  auto const& devices = input.devices;
  for (size_t first = 0, last = 0; first < devices.size(); first = last) {
    int32_t const rank_index = devices[first].ref.rank_index;
    while (last < devices.size() && devices[last].ref.rank_index == rank_index) ++last;

    bool const is_chosen =
        std::any_of(input.chosen.begin(), input.chosen.end(),
                    [&](DeviceStats const& d) { return d.ref.rank_index == rank_index; });
    if (is_chosen) result.push_back(PathProcess(devices).subspan(first, last - first));
  }
  return result;
}

/// The place of each process, by its rank_index.
std::unordered_map<int32_t, size_t> places_of(std::vector<PathProcess> const& processes) {
  std::unordered_map<int32_t, size_t> places;
  for (size_t p = 0; p < processes.size(); ++p)
    places.emplace(processes[p].front().ref.rank_index, p);
  return places;
}

/// The part of each process in collectives with at least two participants.
std::vector<std::vector<CollectiveJoin>> joins_of(std::vector<CollectiveStats> const& collectives,
                                                  std::vector<PathProcess> const& processes) {
  std::vector<std::vector<CollectiveJoin>> joins(processes.size());
  auto const places = places_of(processes);

  for (uint32_t c = 0; c < collectives.size(); ++c) {
    auto const& participants = collectives[c].participants;
    if (participants.size() < 2) continue;
    for (auto const& participant : participants) {
      auto const process = places.find(participant.ref.rank_index);
      if (process != places.end())
        joins[process->second].push_back(
            {participant.row, kNoNode, c, participant.wait_ns, 0, false});
    }
  }
  return joins;
}

/// The least wait of ranks that have no graph, for each collective.
std::vector<int64_t> least_waits_elsewhere(std::vector<CollectiveStats> const& collectives,
                                           std::vector<PathProcess> const& processes) {
  std::vector<int64_t> least(collectives.size(), std::numeric_limits<int64_t>::max());
  auto const places = places_of(processes);

  for (size_t c = 0; c < collectives.size(); ++c) {
    auto const& participants = collectives[c].participants;
    if (participants.size() < 2) continue;
    for (auto const& participant : participants)
      if (!places.contains(participant.ref.rank_index))
        least[c] = std::min(least[c], participant.wait_ns);
  }
  return least;
}

std::vector<int64_t> latency_limits(ProcessGraphsInput const& input, PathProcess process) {
  std::vector<int64_t> limits;
  for (DeviceOps const& device : process) {
    auto const facts =
        std::lower_bound(input.chosen.begin(), input.chosen.end(), device.ref,
                         [](DeviceStats const& d, DeviceRef ref) { return d.ref < ref; });
    bool const is_known = facts != input.chosen.end() && facts->ref == device.ref;
    limits.push_back(
        std::max(input.launch_latency_limit_ns, is_known ? facts->launch.latency_limit_ns : 0));
  }

  return limits;
}

/// For how long a participant could have done the transfer before that began. Usually this is what
/// it waited in it: no common clock is needed. Where it did not even begin for a reason that it
/// does not know, it waited for that with all the others.
int64_t head_start(DependencyGraph const& graph, CollectiveJoin const& join) {
  GraphOp const& op = graph.ops[join.op];
  int64_t const late = op.ready == kNothingBefore ? 0 : op.start - op.ready;
  return join.wait_ns + (late >= graph.latency_limit_of(op) ? late : 0);
}

}  // namespace

ProcessGraphs make_process_graphs(ProcessGraphsInput const& input) {
  ProcessGraphs made;
  made.processes = chosen_processes(input);
  made.graphs.resize(made.processes.size());
  auto joins = joins_of(input.collectives, made.processes);

  tbb::parallel_for(size_t{0}, made.processes.size(), [&](size_t p) {
    if (input.stop.stop_requested()) return;
    PathProcess const process = made.processes[p];
    auto const rank_index = static_cast<size_t>(process.front().ref.rank_index);
    made.graphs[p] =
        make_dependency_graph(process, input.host_steps.threads[rank_index], std::move(joins[p]),
                              latency_limits(input, process), input.launch_latency_limit_ns);
  });

  return made;
}

std::vector<OpPlace> find_last_participants(std::vector<CollectiveStats> const& collectives,
                                            ProcessGraphs& made) {
  /// Orders participants by when they were ready; equally late ones by how ranks are called.
  using LastKey = std::tuple<int64_t, int32_t, uint32_t, uint32_t>;
  std::vector<OpPlace> last(collectives.size());
  std::vector<LastKey> best(last.size(), LastKey{std::numeric_limits<int64_t>::max(), 0, 0, 0});

  for (uint32_t p = 0; p < made.graphs.size(); ++p) {
    int32_t const rank = made.processes[p].front().trace().info().rank;
    for (CollectiveJoin const& join : made.graphs[p].joins) {
      LastKey const key{head_start(made.graphs[p], join), rank, p, join.op};
      if (key >= best[join.collective]) continue;
      best[join.collective] = key;
      last[join.collective] = {p, join.op};
    }
  }

  std::vector<int64_t> const elsewhere = least_waits_elsewhere(collectives, made.processes);
  for (DependencyGraph& graph : made.graphs) {
    for (CollectiveJoin& join : graph.joins) {
      int64_t const least_here = std::get<0>(best[join.collective]);
      int64_t const least_elsewhere = elsewhere[join.collective];
      join.lead_ns = head_start(graph, join) - std::min(least_here, least_elsewhere);
      join.is_jump = join.lead_ns > 0 && least_here <= least_elsewhere;
    }
  }

  return last;
}

}  // namespace stepscope::analyzer
