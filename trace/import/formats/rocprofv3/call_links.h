// What the calls of one thread started. A record has the correlation of the innermost traced call
// around it, which may be one of HSA inside one of HIP; programs know the outer one.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/model/details.h"

namespace stepscope::import::rocm {

struct CallSpan {
  int64_t start = 0, end = 0;
  uint64_t correlation = 0;
};

/// What a function of RCCL is.
enum class RcclRole : uint8_t { kOther, kGroupStart, kGroupEnd, kCall };
RcclRole rccl_role(std::string_view function);
model::CollectiveOp rccl_operation(std::string_view function);

struct RcclSpan {
  CallSpan span;
  RcclRole role = RcclRole::kOther;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
};

struct CallsOfThread {
  std::vector<CallSpan> hip, hsa;
  std::vector<RcclSpan> rccl;
};

/// Correlation of a call of HSA → that of the HIP call around it.
using OuterCalls = std::unordered_map<uint64_t, uint64_t, base::HashNumber>;
void find_outer_calls(CallsOfThread& calls, OuterCalls& outer);

/// Correlation of a call → the operation that RCCL does by it.
using CommunicationCalls = std::unordered_map<uint64_t, model::CollectiveOp, base::HashNumber>;
/// Finds the HIP calls inside RCCL's. A group's kernels start in the call that ends it. Where its
/// calls differ, the operation is unknown.
void find_communication(CallsOfThread& calls, CommunicationCalls& found);

}  // namespace stepscope::import::rocm
