// What devices executed: kernels by name, device time by host range, copies by direction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/results/device_ref.h"
#include "trace/model/details.h"
#include "trace/model/kinds.h"

namespace stepscope::analyzer {

/// Kernels of one name on one device.
struct KernelStats {
  DeviceRef ref;
  std::string name;
  model::EventKind kind = model::EventKind::kKernel;
  uint64_t count = 0;
  int64_t total_ns = 0, median_ns = 0, p95_ns = 0, min_ns = 0, max_ns = 0;
  double share = 0;                  ///< of the device's summed op time
  std::optional<double> flops_rate;  ///< operations per second, where known
  int64_t mean_ns = 0;               ///< rounded down
  /// True: the name shows tensor cores. False: the name shows a matrix product without them. Else
  /// none.
  std::optional<bool> tensor_cores;
  /// Mean over its time, where known: an estimate (DEFINITIONS, "Launch").
  std::optional<double> occupancy_percent;
  std::optional<double> bytes_rate;      ///< least memory traffic per second, where known
  std::optional<double> flops_per_byte;  ///< arithmetic intensity over the calls with both numbers
  std::optional<double> peak_share;      ///< flops_rate / the device's peak, where known
  /// Share of kernel time in launches with fewer blocks than SMs.
  std::optional<double> small_grid_share;
};

/// Device time by the host range in which it was launched (DEFINITIONS, "Kernels"). The rows of one
/// device and level sum to all its ops.
struct OpStats {
  enum class Level : uint8_t {
    kOp = 0,    ///< the innermost range
    kLayer = 1  ///< the outermost range below step and phase
  };
  enum class What : uint8_t {
    kRange = 0,       ///< launched in the range of this name
    kOutside = 1,     ///< launched in no range
    kUnlaunched = 2,  ///< the launch is not in the trace
    kRest = 3         ///< further ranges together
  };
  DeviceRef ref;
  Level level = Level::kOp;
  What what = What::kRange;
  std::string name;    ///< of the range, else empty
  uint64_t count = 0;  ///< device ops
  int64_t total_ns = 0;
  double share = 0;  ///< of the device's summed op time
};

/// Memcpys of one direction on one device.
struct CopyStats {
  DeviceRef ref;
  model::CopyDirection direction = model::CopyDirection::kUnknown;
  uint64_t count = 0, bytes = 0;
  int64_t total_ns = 0;
  std::optional<double> gbps;  ///< bytes / total_ns: 1e9 bytes per second
  uint64_t small_count = 0;    ///< of fewer than 64 KiB
  /// Copies of host memory that is not page-locked. None where no copy of this direction records
  /// whether its memory is.
  std::optional<uint64_t> pageable_count, pageable_bytes;
  uint64_t blocking_count = 0;  ///< copies for which the host waited
  /// Host to device and device to host only: time in which the other direction was copied too.
  int64_t both_ways_ns = 0;
};

}  // namespace stepscope::analyzer
