// What a traced program and the command that records it tell each other about counters of GPUs, in
// packets on a socket (sampling_service.h). The other end may be of another version, or somebody
// else: whatever the bytes are, reading them is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trace/base/bytes.h"
#include "tracer/core/device_registry.h"
#include "tracer/nvml/sampler.h"

namespace stepscope::tracer::nvml {

/// No packet is larger: what a socket takes at once.
inline constexpr size_t kMaxPacketBytes = 128 << 10;

// From the program.

/// The first packet.
struct SamplingHello {
  int64_t period_ms = 0;
  std::optional<std::string> visible_devices,
      device_order;  ///< CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER
};
/// Each replaces the one before.
struct SamplingOrders {
  bool is_recording = false;
  /// None = those that CUDA's variables name.
  std::optional<std::vector<DeviceRegistry::Device>> devices;
};
/// No more samples; the outcome is asked for.
struct SamplingEnd {};

// To the program.

struct SamplingFact {
  std::string name, text;
};
/// What became of the sampling, for people. The last packet.
struct SamplingOutcome {
  std::string text;
};

using SamplingMessage = std::variant<SamplingHello, SamplingOrders, SamplingEnd,
                                     std::vector<Sample>, SamplingFact, SamplingOutcome>;

std::vector<std::byte> encode(SamplingMessage const& message);
/// Nothing for what encode() of this version never makes.
std::optional<SamplingMessage> decode_sampling_message(base::ByteSpan packet);

}  // namespace stepscope::tracer::nvml
