// What a device did and how it was launched: kernels, host ranges, graphs, copies and slow time, of
// the ops that were asked for.
#pragma once

#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/work/op_tables.h"

namespace stepscope::analyzer {

/// Fills launch and slow of the device (its window must be set) and slow of its steps. Appends its
/// rows to the tables of the analysis. `ops`: of the device, by start. `places`: of its process.
void add_device_work(DeviceOps const& device, DeviceSets const& sets,
                     std::vector<LaunchPlace> const& places, std::vector<uint32_t> const& ops,
                     DeviceStats& facts, std::vector<StepStats>& steps, Analysis& analysis);

}  // namespace stepscope::analyzer
