// What the host of a process waited for: in its syncs, and where one thread hands its work over to
// another.
#pragma once

#include "analyzer/metrics/critical_path/dependency_graph_streams.h"

namespace stepscope::analyzer {

/// Fills syncs and their exits. `launch_rows`: of graph.launches.
void find_host_waits(DeviceOps const& device, StreamOps& streams,
                     std::vector<uint32_t> const& launch_rows, int64_t least_wait_ns,
                     DependencyGraph& graph);

/// Adds the exits of threads without steps to the threads that gave them work. Adds those of the
/// thread with the steps to the one that works for it (PyTorch's thread of backward passes). Sorts
/// all exits.
void find_handovers(model::RankTrace const& rank, std::vector<std::vector<HostStep>> const& steps,
                    DependencyGraph& graph);

/// A thread without steps that launches a tenth as much as the one with steps works for it: a
/// backward pass launches about as much as the forward pass. One that loads batches launches far
/// less, and works for itself.
inline constexpr size_t kHelperLaunchDivisor = 10;

}  // namespace stepscope::analyzer
