// The versions of the interface → one: what each says of an operation becomes a Call, what each says of an event becomes a call
// of the recorder. Nothing else knows that there are several.
#pragma once

#include <cstdint>

#include "tracer/core/options.h"
#include "tracer/nccl/abi.h"
#include "tracer/nccl/recorder.h"

namespace stepscope::tracer::nccl {

/// What NCCL is asked for, the same in all versions. Kernel channel events are never: for them NCCL makes its kernels write
/// timestamps and a network thread read them, on machines without a network too, and CUPTI times the kernels anyway.
constexpr int mask_of(NcclDetail detail) {
  if (detail == NcclDetail::kOff) return 0;
  uint64_t const calls = kGroup | kCollective | kPointToPoint;
  return static_cast<int>(detail == NcclDetail::kCalls ? calls : calls | kProxyOp | kProxyStep);
}

// NCCL passes handles and contexts as pointers. A context is a communicator's number + 1: null is none.
inline uint64_t to_handle(void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
inline void* to_pointer(uint64_t handle) { return reinterpret_cast<void*>(static_cast<uintptr_t>(handle)); }
inline uint32_t communicator_of(void* context) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) - 1);  // of null: a number that no communicator has
}

// Without handle, communicator and rank, which are found in the same place in all versions.
Call to_call(EventV1::Collective const& from);
Call to_call(EventV2::Collective const& from);
Call to_call(EventV3::Collective const& from);
Call to_call(EventV4::Collective const& from);
Call to_call(EventV5::Collective const& from);
Call to_call(EventV1::PointToPoint const& from);
Call to_call(EventV2::PointToPoint const& from);
Call to_call(EventV4::PointToPoint const& from);
Call to_call(EventV5::PointToPoint const& from);

/// Waiting in a state of a network step.
Wait wait_of(int state);
/// Whether the state is one of a network step at all.
bool is_step_state(int state);

/// The handle for the event; 0 = it is not recorded.
template <class Event>
uint64_t start_event(Recorder& recorder, void* context, Event const& event) {
  auto const begin = [&](auto const& operation) {
    Call call = to_call(operation);
    call.communicator = communicator_of(context);
    call.rank = event.rank;
    if constexpr (requires { operation.group; })
      call.plan = to_handle(operation.group);
    else
      call.plan = to_handle(event.parent);
    return recorder.begin_call(call);
  };
  switch (static_cast<uint64_t>(event.type)) {
    case kGroup:
      return recorder.begin_plan();
    case kCollective:
      return begin(event.collective);
    case kPointToPoint:
      return begin(event.point_to_point);
    case kProxyOp:
      return event.proxy_op.process == recorder.ids().process ? recorder.begin_network_op(to_handle(event.parent)) : 0;
    case kProxyStep:
      return recorder.begin_network_step(to_handle(event.parent));
    default:
      return 0;
  }
}

}  // namespace stepscope::tracer::nccl
