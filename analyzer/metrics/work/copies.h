// Memcpys by direction, and which of them hold up their host (DEFINITIONS, "Copies"). A copy is
//   pageable   of host memory that is not page-locked: only where the recording says so, in the
//   copy's name as CUPTI's tools write
//              it ("Memcpy HtoD (Pageable -> Device)"); a copy that is not known to be pinned is
//              not known to be pageable
//   blocking   between host and device, by a call that returns when it is done:
//   is_blocking_copy_call(), or a call that lasted
//              until the copy's end though its memory is not known to be pinned
// O(n log n) in the copies.
#pragma once

#include <string_view>

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Smaller ones take as long as one of this size: what a copy costs at all is a few µs, a link
/// moves 64 KiB in about as much.
inline constexpr uint64_t kSmallCopyBytes = 64 * 1024;

/// A row for each direction that occurs among `rows`, device ops of the device by start.
std::vector<CopyStats> copy_table(DeviceOps const& device, std::vector<uint32_t> const& rows);

/// `steps`: of the device. DeviceStats::longest_copies, at most kMaxEvidence. O(copies + steps).
std::vector<DeviceStats::Copy> longest_copies(DeviceOps const& device,
                                              std::vector<uint32_t> const& rows,
                                              std::vector<StepStats> const& steps);

/// Times of a device's copies.
struct CopyTimes {
  model::IntervalSet slow;     ///< of pageable memory, or blocking
  model::IntervalSet staging;  ///< calls of is_staged_copy() ops, until the copy begins
  model::IntervalSet
      within_device;  ///< from one place of the device to another, while nothing else is copied
};
CopyTimes copy_times(DeviceOps const& device);

/// Whether a call of this name returns when its copy is done: "cudaMemcpy", "cuMemcpyDtoH_v2",
/// "hipMemcpyWithStream", "musaMemcpy2D". No name with Async does, nor do the command lists of
/// Intel's and OpenCL's runtimes.
bool is_blocking_copy_call(std::string_view name);

/// Whether the call that launched a copy is known to have waited for the copy's end. It began
/// before the copy and lasted until its end. Besides, either its name does not say that it only
/// queues the copy, or the memory is not known to be page-locked. A blocking call that reads from
/// the device waits, whatever the clocks of host and device say about its end. O(1).
bool waits_for_copy(model::Trace const& trace, uint32_t call, uint32_t copy);

/// Whether an op copies pageable memory to the device. Its call copies the memory into a buffer of
/// the driver first: until then the host launches nothing, and the device cannot begin.
bool is_staged_copy(model::Trace const& trace, uint32_t op);

}  // namespace stepscope::analyzer
