// What threads did: calls of CUDA, of libraries, of the system and of MPI, and the profiler's own
// work.
#pragma once

#include <map>

#include "trace/import/formats/nsys/device_tables.h"
#include "trace/import/formats/nsys/memory_table.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

/// `syncs` and `memory`: what calls waited for and allocated; what is taken from the latter is
/// marked.
void read_host_tables(Processes& processes, std::map<Process*, Syncs> const& syncs,
                      std::map<Process*, MemoryChanges>& memory);

}  // namespace stepscope::import::nsys
