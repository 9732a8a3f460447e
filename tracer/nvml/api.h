// The seam to NVML, the driver's management library: the functions that are sampled, found at run
// time. Our own declarations after NVIDIA's public header (nvml.h); structs have the layout of the
// versions that are asked for.
#pragma once

#include <array>
#include <cstdint>

#include "trace/base/expected.h"

namespace stepscope::tracer::nvml {

using Device = void*;
using Result = int;
inline constexpr Result kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kDriverNotLoaded = 9,
                        kFunctionNotFound = 13, kGpuIsLost = 15;

struct Utilization {
  unsigned gpu = 0,
           memory = 0;  ///< percent of the time in which a kernel ran, memory was read or written
};
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;  ///< bytes
};
enum Clock : int { kSmClock = 1, kMemoryClock = 2 };
inline constexpr int kGpuTemperature = 0;

struct FieldValue {
  unsigned field = 0;
  unsigned scope = 0;
  long long timestamp = 0, latency_us = 0;
  int value_type = 0;  ///< a ValueType
  Result result = 0;
  uint64_t value = 0;  ///< the bits of a union: number() reads them

  /// In the field's own unit, not below 0.
  [[nodiscard]] uint64_t number() const;
};
/// nvml.h, nvmlValueType_t.
enum ValueType : int {
  kDouble = 0,
  kUnsignedInt = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kSignedLongLong = 4,
  kSignedInt = 5,
  kUnsignedShort = 6
};
inline constexpr unsigned kMomentaryPowerMw = 186;
// Since the driver was loaded, KiB; the scope kAllLinks sums the links up.
inline constexpr unsigned kNvlinkSentKib = 138, kNvlinkReceivedKib = 139, kAllLinks = UINT32_MAX;

/// Room for the texts that NVML writes, with their terminator.
inline constexpr unsigned kMaxText = 96;
/// Asks whether two devices reach each other over NVLink; the answer 0 is yes.
inline constexpr int kPeerOverNvlink = 2;
/// Room for more links than any GPU has.
inline constexpr unsigned kMaxLinks = 64;

// Hardware counters between two samples, on Hopper and later GPUs.
struct GpmSupport {
  unsigned version = 1;
  unsigned is_supported = 0;
};
inline constexpr unsigned kGpmSmActivity = 2, kGpmTensorActivity = 5,
                          kGpmDramBandwidth = 10;  // percent
inline constexpr unsigned kGpmPcieSent = 20, kGpmPcieReceived = 21, kGpmNvlinkReceived = 60,
                          kGpmNvlinkSent = 61;  // MiB/s
struct GpmMetric {
  unsigned metric = 0;
  Result result = 0;
  double value = 0;
  std::array<char const*, 3> texts{};
};
struct GpmMetrics {
  /// Room for more than any version of the library writes.
  static constexpr size_t kMaxMetrics = 512;

  unsigned version = 1;
  unsigned count = 0;
  void* before = nullptr;
  void* after = nullptr;
  std::array<GpmMetric, kMaxMetrics> metrics{};
};

/// Functions that the library does not have are null.
struct Api {
  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  Result (*device_count)(unsigned* count) = nullptr;
  Result (*device_by_index)(unsigned index, Device* device) = nullptr;
  Result (*device_by_uuid)(char const* uuid, Device* device) = nullptr;
  Result (*device_name)(Device device, char* text, unsigned room) = nullptr;
  Result (*device_uuid)(Device device, char* text, unsigned room) = nullptr;
  Result (*link_state)(Device device, unsigned link, int* is_up) = nullptr;
  Result (*peer_status)(Device from, Device to, int question, int* answer) = nullptr;
  // Each one number.
  Result (*pcie_generation)(Device device, unsigned* value) = nullptr;
  Result (*max_pcie_generation)(Device device, unsigned* value) = nullptr;
  Result (*pcie_lanes)(Device device, unsigned* value) = nullptr;
  Result (*max_pcie_lanes)(Device device, unsigned* value) = nullptr;
  Result (*power_limit_mw)(Device device, unsigned* value) = nullptr;
  Result (*utilization)(Device device, Utilization* rates) = nullptr;
  Result (*memory)(Device device, Memory* memory) = nullptr;
  Result (*power_mw)(Device device, unsigned* power) = nullptr;
  Result (*clock_mhz)(Device device, int clock, unsigned* value) = nullptr;
  Result (*clock_limits)(Device device, unsigned long long* reasons) = nullptr;
  Result (*temperature_c)(Device device, int sensor, unsigned* value) = nullptr;
  Result (*fields)(Device device, int count, FieldValue* values) = nullptr;
  Result (*gpm_support)(Device device, GpmSupport* support) = nullptr;
  Result (*gpm_alloc)(void** sample) = nullptr;
  Result (*gpm_free)(void* sample) = nullptr;
  Result (*gpm_sample)(Device device, void* sample) = nullptr;
  Result (*gpm_metrics)(GpmMetrics* metrics) = nullptr;
};

/// The library stays loaded. Errors: this machine has no NVML, a part of one, or one without the
/// functions that name devices.
base::Expected<Api> load_api();

}  // namespace stepscope::tracer::nvml
