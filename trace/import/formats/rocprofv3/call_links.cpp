#include "trace/import/formats/rocprofv3/call_links.h"

#include <algorithm>
#include <optional>

#include "trace/model/build/communication_names.h"

namespace stepscope::import::rocm {
namespace {

using model::CollectiveOp;

bool begins_earlier(CallSpan const& a, CallSpan const& b) { return a.start < b.start; }

/// Gives operations to the calls of HIP inside of calls of RCCL, which come in the order of time.
class CallMarker {
 public:
  CallMarker(std::vector<CallSpan> const& hip, CommunicationCalls& found)
      : hip_(hip), found_(found) {}

  void mark(CallSpan const& around, CollectiveOp op) {
    found_.try_emplace(around.correlation, op);
    auto const first = std::lower_bound(hip_.begin(), hip_.end(), around, begins_earlier);
    // A call that was marked is not visited again, also where a damaged file has calls that
    // overlap.
    next_ = std::max(next_, static_cast<size_t>(first - hip_.begin()));
    for (; next_ < hip_.size() && hip_[next_].start <= around.end; ++next_)
      found_.try_emplace(hip_[next_].correlation, op);
  }

 private:
  std::vector<CallSpan> const& hip_;
  CommunicationCalls& found_;
  size_t next_ = 0;
};

}  // namespace

RcclRole rccl_role(std::string_view function) {
  if (function == "ncclGroupStart") return RcclRole::kGroupStart;
  if (function == "ncclGroupEnd") return RcclRole::kGroupEnd;
  return rccl_operation(function) == CollectiveOp::kUnknown ? RcclRole::kOther : RcclRole::kCall;
}

CollectiveOp rccl_operation(std::string_view function) {
  for (std::string_view const other : {"ncclComm", "ncclRedOp", "ncclGet", "ncclMem"})
    if (function.starts_with(other)) return CollectiveOp::kUnknown;
  if (function == "ncclBcast") return CollectiveOp::kBroadcast;
  return model::collective_op_of(function);
}

void find_outer_calls(CallsOfThread& calls, OuterCalls& outer) {
  if (calls.hsa.empty() || calls.hip.empty()) return;
  std::stable_sort(calls.hip.begin(), calls.hip.end(), begins_earlier);

  for (CallSpan const& inner : calls.hsa) {
    auto const after = std::upper_bound(calls.hip.begin(), calls.hip.end(), inner, begins_earlier);
    if (after == calls.hip.begin()) continue;
    CallSpan const& around = *std::prev(after);
    if (inner.end <= around.end && around.correlation != 0)
      outer.try_emplace(inner.correlation, around.correlation);
  }
}

void find_communication(CallsOfThread& calls, CommunicationCalls& found) {
  std::stable_sort(calls.hip.begin(), calls.hip.end(), begins_earlier);
  std::stable_sort(calls.rccl.begin(), calls.rccl.end(), [](RcclSpan const& a, RcclSpan const& b) {
    return begins_earlier(a.span, b.span);
  });

  CallMarker marker(calls.hip, found);
  std::optional<CollectiveOp> group;
  int depth = 0;

  for (RcclSpan const& call : calls.rccl) {
    switch (call.role) {
      case RcclRole::kGroupStart:
        if (depth++ == 0) group.reset();
        break;
      case RcclRole::kGroupEnd:
        depth = std::max(0, depth - 1);
        if (depth == 0 && group) marker.mark(call.span, *group);
        break;
      case RcclRole::kCall:
        if (depth == 0) marker.mark(call.span, call.op);
        group = !group || *group == call.op ? call.op : CollectiveOp::kUnknown;
        break;
      case RcclRole::kOther:
        break;
    }
  }
}

}  // namespace stepscope::import::rocm
