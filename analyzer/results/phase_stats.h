// Named parts of the program: forward, backward, optimizer and what else a program marks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// A named part of the program on one device, over all its occurrences (DEFINITIONS, "Phases"). Device times
/// count the ops that it launched.
struct PhaseStats {
  DeviceRef ref;
  std::string name;                            ///< empty: further phases together, without device times
  uint64_t names = 1;                          ///< how many phases this row stands for
  uint64_t count = 0;                          ///< occurrences
  int64_t host_ns = 0;                         ///< their summed durations
  uint64_t ops = 0;                            ///< device ops launched in them
  std::optional<int64_t> busy_ns, compute_ns;  ///< unions over all occurrences
  std::optional<int64_t> exposed_comm_ns;      ///< its communication that no compute of the device hides
  std::optional<int64_t> median_ns, p95_ns;    ///< device time of an occurrence: the union of its ops
};

}  // namespace stepscope::analyzer
