// The kinds of events and, in one table, what each is: its name, its detail table, whether a device
// executes it and as what class.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/base/check.h"

namespace stepscope::model {

/// Numbers are stored in files: never renumber, add at the end.
enum class EventKind : uint8_t {
  kRange = 0,            ///< host: a named range (NVTX, framework op)
  kMark = 1,             ///< host: an instant
  kStep = 2,             ///< host: one training step
  kPhase = 3,            ///< host: a named part of a step
  kInputWait = 4,        ///< host: the thread waits for training data
  kLaunch = 5,           ///< host: a call that enqueues a device op (linked by correlation)
  kApi = 6,              ///< host: any other runtime or driver call
  kSync = 7,             ///< host: a call that blocks until device work is over
  kMemory = 8,           ///< host: a call that allocates or frees device memory
  kOverhead = 9,         ///< host: the profiler's own time
  kKernel = 10,          ///< device op: computes
  kMemcpy = 11,          ///< device op: copies
  kMemset = 12,          ///< device op: fills
  kCollective = 13,      ///< device op: communicates
  kStreamWait = 14,      ///< device: the stream is held by an event; not a device op
  kSample = 15,          ///< counter: a value from here on
  kCollectiveCall = 16,  ///< host: the library enqueued a collective or point-to-point operation;
                         ///< its kernel communicates
  kAnnotatedRange = 17,  ///< host: a range that says more than its name
  kAnnotatedMark = 18,   ///< host: an instant that says more than its name
};
inline constexpr int kKindCount = 19;

/// Which detail table a kind's rows are in: an index of DetailTables, or none.
enum class DetailTable : int8_t {
  kNone = -1,
  kSteps = 0,
  kKernels = 1,
  kCopies = 2,
  kCollectives = 3,
  kStreamWaits = 4,
  kSyncs = 5,
  kMemory = 6,
  kSamples = 7,
  kRanges = 8
};
inline constexpr int kDetailTableCount = 9;

/// Class of a device op (DEFINITIONS, "Time and classes").
enum class OpClass : uint8_t { kNone = 0, kCompute = 1, kComm = 2, kCopy = 3 };

struct KindInfo {
  std::string_view name;
  DetailTable table;
  OpClass op_class;  ///< kNone = not a device op
};

/// The kind table.
inline constexpr std::array<KindInfo, kKindCount> kKindTable = {{
    {"range", DetailTable::kNone, OpClass::kNone},
    {"mark", DetailTable::kNone, OpClass::kNone},
    {"step", DetailTable::kSteps, OpClass::kNone},
    {"phase", DetailTable::kNone, OpClass::kNone},
    {"input_wait", DetailTable::kNone, OpClass::kNone},
    {"launch", DetailTable::kNone, OpClass::kNone},
    {"api", DetailTable::kNone, OpClass::kNone},
    {"sync", DetailTable::kSyncs, OpClass::kNone},
    {"memory", DetailTable::kMemory, OpClass::kNone},
    {"overhead", DetailTable::kNone, OpClass::kNone},
    {"kernel", DetailTable::kKernels, OpClass::kCompute},
    {"memcpy", DetailTable::kCopies, OpClass::kCopy},
    {"memset", DetailTable::kCopies, OpClass::kCompute},
    {"collective", DetailTable::kCollectives, OpClass::kComm},
    {"stream_wait", DetailTable::kStreamWaits, OpClass::kNone},
    {"sample", DetailTable::kSamples, OpClass::kNone},
    {"collective_call", DetailTable::kCollectives, OpClass::kNone},
    {"annotated_range", DetailTable::kRanges, OpClass::kNone},
    {"annotated_mark", DetailTable::kRanges, OpClass::kNone},
}};

/// `kind` must be one of the enumerators.
inline KindInfo const& kind_info(EventKind kind) {
  STEPSCOPE_CHECK(static_cast<uint8_t>(kind) < kKindCount);
  return kKindTable[static_cast<uint8_t>(kind)];
}
inline bool is_device_op(EventKind kind) { return kind_info(kind).op_class != OpClass::kNone; }
/// A named range of the host, whatever else it says.
inline bool is_range(EventKind kind) {
  return kind == EventKind::kRange || kind == EventKind::kAnnotatedRange;
}
/// An instant of the host, whatever else it says.
inline bool is_mark(EventKind kind) {
  return kind == EventKind::kMark || kind == EventKind::kAnnotatedMark;
}
/// False for numbers this version does not know (newer or damaged files).
inline bool is_known_kind(uint8_t number) { return number < kKindCount; }

}  // namespace stepscope::model
