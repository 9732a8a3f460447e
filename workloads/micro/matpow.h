// Aⁿ + Bⁿ on one device and on two: what a second device gives when the work is independent. See
// matpow.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/backend/backend.h"

namespace stepscope::workloads {

constexpr char const* kMatpowDescription =
    "matrix powers: A^n + B^n on one device and on two, with both times and the speed-up";

struct MatpowOptions {
  std::string device = "host:2";
  int64_t size = 1024;  ///< of the square matrices
  int64_t power = 10;   ///< n: n − 1 products a matrix
  int64_t repeat = 5;   ///< each way; the median counts
  uint64_t seed = 1;
  Precision precision = Precision::kFp32;
  bool log_placement = false, soft_placement = false;
  uint64_t memory_limit_mib = 0;  ///< a device; 0 = the backend's default
  bool json = false;
};
struct MatpowResult {
  std::vector<int64_t> one_device_ns, two_devices_ns;  ///< of each repetition
  std::vector<float> one_device, two_devices;          ///< Aⁿ + Bⁿ, row by row

  [[nodiscard]] double speedup() const;  ///< median over median
};

/// Errors: fewer than two devices, out of memory.
base::Expected<MatpowResult> compute_matpow(MatpowOptions const& options);

base::Expected<int> run_matpow(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
