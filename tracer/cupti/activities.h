// What CUPTI is asked to record, and why: THE table.
#pragma once

#include <algorithm>
#include <array>

#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

struct Activity {
  CUpti_ActivityKind kind;
  bool before_window;  ///< needed of the time before the recorded steps, too
  bool is_essential;   ///< without it there is no use in the rest
};

/// Not asked for, with the reason (decision 7 has more):
///
///   KERNEL                  runs one kernel at a time
///   GRAPH_TRACE             would hide the kernels of graphs
///   DRIVER as a whole       reports every call of the runtime twice; single functions are asked
///   for
///                           instead (cupti_control.cpp)
///   NAME, MARKER            repeat what the NVTX source knows better
///   ENVIRONMENT, NVLINK     belong to the NVML source (and NVLINK's layout breaks in 13.2)
///   UNIFIED_MEMORY_COUNTER  takes a thread, and seconds to turn off
///   STREAM                  adds nothing to the first op of a stream
inline constexpr std::array kActivities = {
    // Names, limits and capacities of devices; the device and the default stream of each context.
    Activity{CUPTI_ACTIVITY_KIND_DEVICE, true, false},
    Activity{CUPTI_ACTIVITY_KIND_CONTEXT, true, false},
    // What is allocated before the window is live in it.
    Activity{CUPTI_ACTIVITY_KIND_MEMORY2, true, false},
    Activity{CUPTI_ACTIVITY_KIND_MEMORY_POOL, true, false},
    // Device ops. Concurrent: the program's kernels overlap as they do without us.
    Activity{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, false, true},
    Activity{CUPTI_ACTIVITY_KIND_MEMCPY, false, false},
    Activity{CUPTI_ACTIVITY_KIND_MEMCPY2, false, false},
    Activity{CUPTI_ACTIVITY_KIND_MEMSET, false, false},
    // Calls: launches, waits and the rest that takes time.
    Activity{CUPTI_ACTIVITY_KIND_RUNTIME, false, true},
    Activity{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, false, false},
    Activity{CUPTI_ACTIVITY_KIND_CUDA_EVENT, false, false},
    // Numbers that a runtime in the program (OpenACC, one that uses CUPTI's API) gave its work:
    // which calls were made for it.
    Activity{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, false, false},
    // What the profiler itself costs is no fault of the program.
    Activity{CUPTI_ACTIVITY_KIND_OVERHEAD, false, false},
};

inline bool is_wanted_before_window(CUpti_ActivityKind kind) {
  return std::any_of(kActivities.begin(), kActivities.end(), [kind](Activity const& activity) {
    return activity.kind == kind && activity.before_window;
  });
}

}  // namespace stepscope::tracer
