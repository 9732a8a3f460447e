// What a record in a ring of the NCCL source looks like, in 8-byte words: the header of
// core/ring.h, ticks, then by type
//   kCall        Call, bytes as they are
//   kCallEnd     handle of the call
//   kNetworkBegin  handle of the call
//   kNetworkEnd    handle of the call, ticks waited for the GPU, the peer, the network
//   kProgramCall   Call, with the handle of the group as its plan
//   kLaunch        Launch, bytes as they are
//   kLaunchEnd     handle of the launch
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trace/model/details.h"
#include "tracer/core/ring.h"

namespace stepscope::tracer::nccl {

enum class RecordType : uint8_t {
  kPadding = kPaddingRecord,
  kCall = 1,
  kCallEnd = 2,
  kNetworkBegin = 3,
  kNetworkEnd = 4,
  kProgramCall = 5,
  kLaunch = 6,
  kLaunchEnd = 7
};

/// What a network thread waits for.
enum class Wait : uint8_t { kNothing = 0, kGpu = 1, kPeer = 2, kNetwork = 3 };
inline constexpr size_t kWaits = 3;
/// Ticks by Wait − 1.
using WaitTicks = std::array<uint64_t, kWaits>;

/// One collective or point-to-point operation as it is enqueued: what all versions of the interface
/// say, in one form.
struct Call {
  uint64_t handle = 0;
  uint64_t plan = 0;  ///< handle of the group that shares a kernel; 0 = unknown
  uint64_t program_call =
      0;  ///< handle of the program's call that it does; 0 = unknown, as below version 5
  uint64_t communicator_hash = 0;  ///< 0 = as its init() said
  uint64_t sequence =
      0;  ///< of NCCL: counts by communicator and function, those of copy engines by communicator
  uint64_t count = 0;          ///< elements
  uint64_t traffic_bytes = 0;  ///< of versions 1 and 2; 0 = unknown
  uint32_t communicator = 0;   ///< number in Communicators
  int32_t rank = -1;
  int32_t peer = -1;  ///< or root
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  model::DataType data_type = model::DataType::kUnknown;
  model::CollectiveAlgorithm algorithm = model::CollectiveAlgorithm::kUnknown;
  model::CollectiveProtocol protocol = model::CollectiveProtocol::kUnknown;
  uint8_t channels = 0;
  // 0 or 1; no bools, so that every byte is a value.
  uint8_t has_sequence = 0;
  uint8_t is_captured = 0;     ///< of a program's call: into a CUDA graph
  uint8_t by_copy_engine = 0;  ///< no kernel runs it
  std::array<uint8_t, 4> unused = {};
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) % sizeof(uint64_t) == 0);

/// The launch of a plan's kernel begins.
struct Launch {
  uint64_t handle = 0;
  uint64_t group = 0;  ///< handle
  uint64_t communicator = 0;
};
static_assert(std::is_trivially_copyable_v<Launch> && sizeof(Launch) % sizeof(uint64_t) == 0);

inline constexpr uint16_t kCallWords = 2 + sizeof(Call) / sizeof(uint64_t);
inline constexpr uint16_t kCallEndWords = 3;
inline constexpr uint16_t kNetworkBeginWords = 3;
inline constexpr uint16_t kNetworkEndWords = 3 + kWaits;
inline constexpr uint16_t kLaunchWords = 2 + sizeof(Launch) / sizeof(uint64_t);
inline constexpr uint16_t kLaunchEndWords = 3;

}  // namespace stepscope::tracer::nccl
