// The enumerations that detail rows hold (details.h), and their names. Numbers are stored in files:
// never renumber, add at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace stepscope::model {

enum class StreamKind : uint8_t { kCompute = 0, kCopy = 1, kCommunication = 2 };
enum class CopyDirection : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kPeerToPeer = 4,
  kHostToHost = 5
};
enum class CollectiveAlgorithm : uint8_t {
  kUnknown = 0,
  kTree = 1,
  kRing = 2,
  kCollnetDirect = 3,
  kCollnetChain = 4,
  kNvls = 5,
  kNvlsTree = 6,
  kPat = 7
};
enum class CollectiveProtocol : uint8_t { kUnknown = 0, kLl = 1, kLl128 = 2, kSimple = 3 };
/// Where the launch of a call's kernel is, among the launches of the call's thread.
enum class CallLaunch : uint8_t {
  kBefore = 0,  ///< not known, most likely the last before the call: the library tells of a call
                ///< just after its launch
  kInside = 1,  ///< known: within the first call of its plan
  kNone = 2     ///< there is none, or it cannot be known which it is
};
/// How far a call's operation had come when the recording ended. Only in recordings that report
/// calls that never ended.
enum class CollectiveState : uint8_t {
  kUnknown = 0,
  kEnqueued = 1,
  kStarted = 2,
  kCompleted = 3,
  kCalled = 4  ///< it was called, in order with the others; whether it is over is unknown
};
enum class DataType : uint8_t {
  kUnknown = 0,
  kInt8 = 1,
  kUint8 = 2,
  kInt32 = 3,
  kUint32 = 4,
  kInt64 = 5,
  kUint64 = 6,
  kFloat16 = 7,
  kFloat32 = 8,
  kFloat64 = 9,
  kBfloat16 = 10,
  kFloat8E4m3 = 11,
  kFloat8E5m2 = 12
};
enum class SyncKind : uint8_t { kUnknown = 0, kDevice = 1, kStream = 2, kEvent = 3 };
enum class MemoryOp : uint8_t { kUnknown = 0, kAllocate = 1, kFree = 2 };
enum class MemoryKind : uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kManaged = 4,
  kDeviceStatic = 5
};
enum class MemoryPurpose : uint8_t {
  kOther = 0,
  kWeights = 1,
  kGradients = 2,
  kOptimizer = 3,
  kActivations = 4,
  kWorkspace = 5,
  kInput = 6
};
/// How the payload of a range is to be read.
enum class NumberType : uint8_t { kNone = 0, kUnsigned = 1, kSigned = 2, kReal = 3 };

char const* to_string(StreamKind kind);
char const* to_string(CopyDirection direction);
char const* to_string(CollectiveAlgorithm algorithm);
char const* to_string(CollectiveProtocol protocol);
char const* to_string(CallLaunch launch);
char const* to_string(CollectiveState state);
char const* to_string(DataType type);
/// Bytes of one element; 0 = unknown.
uint64_t bytes_of(DataType type);
char const* to_string(SyncKind kind);
char const* to_string(MemoryOp op);
char const* to_string(MemoryKind kind);
char const* to_string(MemoryPurpose purpose);
char const* to_string(NumberType type);

/// How CUPTI, and what is made from its records, numbers copies.
struct CopyKind {
  std::string_view name;  ///< as in "Memcpy HtoD (Pinned -> Device)"
  CopyDirection direction;
};

/// The copy kind of a CUpti_ActivityMemcpyKind; unknown for other numbers. A = an array of the
/// device.
inline CopyKind const& copy_kind(uint64_t kind) {
  static constexpr std::array<CopyKind, 11> kKinds = {{
      {"unknown", CopyDirection::kUnknown},
      {"HtoD", CopyDirection::kHostToDevice},
      {"DtoH", CopyDirection::kDeviceToHost},
      {"HtoA", CopyDirection::kHostToDevice},
      {"AtoH", CopyDirection::kDeviceToHost},
      {"AtoA", CopyDirection::kDeviceToDevice},
      {"AtoD", CopyDirection::kDeviceToDevice},
      {"DtoA", CopyDirection::kDeviceToDevice},
      {"DtoD", CopyDirection::kDeviceToDevice},
      {"HtoH", CopyDirection::kHostToHost},
      {"PtoP", CopyDirection::kPeerToPeer},
  }};
  return kKinds[kind < kKinds.size() ? kind : 0];
}

}  // namespace stepscope::model
