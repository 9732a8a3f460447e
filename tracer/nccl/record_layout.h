// What a record in a ring of the NCCL source looks like, in 8-byte words: the header of core/ring.h, ticks, then by type
//   kCall        Call, bytes as they are
//   kCallEnd     handle of the call
//   kNetworkBegin  handle of the call
//   kNetworkEnd    handle of the call, ticks waited for the GPU, the peer, the network
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "trace/model/details.h"
#include "tracer/core/ring.h"

namespace stepscope::tracer::nccl {

enum class RecordType : uint8_t { kPadding = kPaddingRecord, kCall = 1, kCallEnd = 2, kNetworkBegin = 3, kNetworkEnd = 4 };

/// What a network thread waits for.
enum class Wait : uint8_t { kNothing = 0, kGpu = 1, kPeer = 2, kNetwork = 3 };
inline constexpr size_t kWaits = 3;
/// Ticks by Wait − 1.
using WaitTicks = std::array<uint64_t, kWaits>;

/// One collective or point-to-point operation as it is enqueued: what all versions of the interface say, in one form.
struct Call {
  uint64_t handle = 0;
  uint64_t plan = 0;               ///< handle of the group that shares a kernel; 0 = unknown
  uint64_t communicator_hash = 0;  ///< 0 = as its init() said
  uint64_t sequence = 0;           ///< of NCCL: counts by communicator and function
  uint64_t count = 0;              ///< elements
  uint64_t traffic_bytes = 0;      ///< of versions 1 and 2; 0 = unknown
  uint32_t communicator = 0;       ///< number in Communicators
  int32_t rank = -1;
  int32_t peer = -1;  ///< or root
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  model::DataType data_type = model::DataType::kUnknown;
  model::CollectiveAlgorithm algorithm = model::CollectiveAlgorithm::kUnknown;
  model::CollectiveProtocol protocol = model::CollectiveProtocol::kUnknown;
  uint8_t channels = 0;
  uint8_t has_sequence = 0;  ///< 0 or 1; no bool, so that every byte is a value
  std::array<uint8_t, 6> unused = {};
};
static_assert(std::is_trivially_copyable_v<Call> && sizeof(Call) % sizeof(uint64_t) == 0);

inline constexpr uint16_t kCallWords = 2 + sizeof(Call) / sizeof(uint64_t);
inline constexpr uint16_t kCallEndWords = 3;
inline constexpr uint16_t kNetworkBeginWords = 3;
inline constexpr uint16_t kNetworkEndWords = 3 + kWaits;

}  // namespace stepscope::tracer::nccl
