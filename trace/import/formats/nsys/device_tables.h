// What devices did: kernels, copies, fills, graphs that were traced whole, and waits of streams.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

/// A kernel of a communication library, whose details the library's ranges may tell.
struct CommunicationKernel {
  TrackRows* track = nullptr;
  size_t detail = 0;  ///< row of the track's collectives
  uint64_t correlation = 0;
  int32_t device = -1;
};

/// What a call that waits waited for, by its correlation.
using Syncs = std::unordered_map<uint64_t, model::SyncDetail, base::HashNumber>;

struct DeviceRows {
  std::map<Process*, std::vector<CommunicationKernel>> communication;
  std::map<Process*, Syncs> syncs;
  uint64_t whole_graphs = 0;  ///< launches of graphs whose kernels were not traced
};

DeviceRows read_device_tables(Processes& processes);

}  // namespace stepscope::import::nsys
