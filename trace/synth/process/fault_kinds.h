// THE list of faults that `stepscope synth --fault` makes, each alone in its job and in every step:
// what its amount is, and which finding must name it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::synth {

enum class FaultType : uint8_t {
  kNone,  ///< a healthy job
  kInput,
  kHostBound,
  kSync,
  kAllocation,
  kLateRank,
  kStraggler,
  kImbalance,
  kSmallBuckets,
  kNoOverlap,
  kSlowLink,
  kSlowPair,
  kSlowGroup,
  kPageableCopies,
  kSerializedCopies,
  kTinyKernels,
  kTensorCores,
  kSmallGrids,
  kSerializedStreams,
  kOutliers,
  kWarmup,
  kLeak,
  kPressure,
  kFragmentation,
  kThrottling,
  kLostRecords,
  kUnfusedAttention,
  kMisalignedMatrices,
  kElementwise,
  kUnsizedBuckets,
  kMissingRanks,
  kPythonFrames
};

struct FaultKind {
  FaultType type;
  std::string_view name;      ///< on the command line
  std::string_view unit;      ///< of its amount; empty = it has none
  double usual, least, most;  ///< amounts
  bool is_whole;              ///< the amount is counted
  std::string_view patterns;  ///< that can have it, separated by spaces; empty = all
  int32_t fewest_ranks;
  std::string_view finding;  ///< rule whose finding comes first, in most jobs; empty = none
  bool has_cost;             ///< the step would be shorter without it
  std::string_view summary;  ///< for the command's help
};
std::span<FaultKind const> fault_kinds();

/// The rule whose finding comes first in a job of the pattern that has the fault; empty where there
/// is none. A healthy pipeline of many stages has its bubble.
std::string_view finding_of(FaultKind const& kind, std::string_view pattern, int32_t ranks);

/// One of them, so much of it.
struct Fault {
  FaultKind const* kind = nullptr;
  double amount = 0;
};
/// "NAME" or "NAME=X". Errors: no such name, X is no number of its range.
base::Expected<Fault> parse_fault(std::string_view text);

/// The kind as the command line spells it: "input=MS".
std::string usage_of(FaultKind const& kind);

}  // namespace stepscope::synth
