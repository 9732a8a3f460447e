// THE table of roles: what the processes and threads of a trace are by their names, where no
// category says it. docs/reference/DEFINITIONS.md, "Devices that are known by their names".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/model/kinds.h"

namespace stepscope::import {

enum class ProcessRole : uint8_t {
  kHost,
  kDevice,         ///< its threads are streams, and lanes that are derived from them
  kCommunication,  ///< of a device: its collectives, each as one event (Ascend)
  kAllStreams,     ///< of a device: says again what its numbered streams say (TensorFlow's
                   ///< "stream:all", "memcpy")
  kDerived         ///< of a device: made from other processes after the recording
};

struct ProcessMeaning {
  ProcessRole role = ProcessRole::kHost;
  std::string device;             ///< which one, the same in all processes of it
  std::optional<int32_t> number;  ///< of the device
  std::optional<int64_t> stream;  ///< when the process is one stream
};
/// "/device:GPU:0/stream:13 Compute", "GPU 1", "Deviceid: 0", "Ascend Hardware". A name that ends
/// in a word of the host, as "GPU 0 worker", is the host's.
ProcessMeaning meaning_of_process(std::string_view name);

enum class LaneRole : uint8_t { kStream, kSteps, kPrograms, kDerived };
/// A thread of a device's process: "Stream #16(Compute)", "XLA Ops", "Overlap Analysis".
LaneRole role_of_lane(std::string_view thread_name);
/// A thread of the host's process that is a stream: "GPU 0 stream 7", "Stream #16(Compute)".
std::optional<ProcessMeaning> meaning_of_host_lane(std::string_view thread_name);
/// "Stream #16(Compute)" → 16, "stream 7" → 7.
std::optional<int64_t> stream_of_lane(std::string_view thread_name);

/// What work on a device is, by its name: kKernel, kMemcpy, kMemset, kCollective or, of what holds
/// the stream, kStreamWait.
model::EventKind kind_of_device_work(std::string_view name);

}  // namespace stepscope::import
