// Counters of the hardware (GPU_METRICS): of no process, shown with the one that used the device
// most.
#pragma once

#include <cstdint>

#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

/// Returns how many samples are of devices that no process used: they are left out.
uint64_t read_metrics_table(Processes& processes);

}  // namespace stepscope::import::nsys
