// Which devices made the others wait, by cause.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Waiting that one device caused. Refers to the analysis.
struct LateDevice {
  /// The part of one cause, over all host operations.
  struct Part {
    WaitStats const* first;  ///< the row of this cause with most exposed time
    int64_t exposed_ns;
  };
  DeviceRef ref;
  int64_t gpu_ns = 0, exposed_ns = 0;  ///< sums of WaitStats
  double share = 0;                    ///< of the exposed time that all devices caused
  std::vector<Part> parts;             ///< sum to exposed_ns
  WaitStats const* most = nullptr;     ///< the row with most exposed time
};

/// The device with most exposed time first, then by gpu_ns, then by ref.
std::vector<LateDevice> late_devices(Analysis const& analysis);

}  // namespace stepscope::analyzer
