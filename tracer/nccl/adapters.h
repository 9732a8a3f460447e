// The versions of the interface → one: what each says of an operation becomes a Call, what each
// says of an event becomes a call of the recorder. Nothing else knows that there are several.
#pragma once

#include <cstdint>

#include "tracer/core/options.h"
#include "tracer/nccl/abi.h"
#include "tracer/nccl/recorder.h"

namespace stepscope::tracer::nccl {

/// The events that NCCL is asked for, by version of the interface. Kernel channel events never are:
/// for them NCCL makes its kernels write timestamps and a network thread read them, even without a
/// network. CUPTI times the kernels anyway.
constexpr int mask_of(NcclDetail detail, int version) {
  if (detail == NcclDetail::kOff) return 0;
  uint64_t mask = kGroup | kCollective | kPointToPoint;
  if (version >= 5) mask |= kGroupCall | kCollectiveCall | kPointToPointCall | kKernelLaunch;
  if (version >= 6) mask |= kCopyEngine;
  if (detail == NcclDetail::kNetwork) mask |= kProxyOp | kProxyStep;
  return static_cast<int>(mask);
}

// NCCL passes handles and contexts as pointers. A context is a communicator's number + 1; null is
// no context.
inline uint64_t to_handle(void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
inline void* to_pointer(uint64_t handle) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(handle));
}
inline uint32_t communicator_of(void* context) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) -
                               1);  // of null: a number that no communicator has
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
Call to_call(EventV5::CollectiveCall const& from);
Call to_call(EventV5::PointToPointCall const& from);
Call to_call(EventV6::CopyEngine const& from);

/// Waiting in a state of a network step.
Wait wait_of(int state);
/// Whether the state is one of a network step at all.
bool is_step_state(int state);

/// The handle for an operation that NCCL does; 0 = it is not recorded.
template <class Event, class Operation>
uint64_t start_operation(Recorder& recorder, void* context, Event const& event,
                         Operation const& operation) {
  Call call = to_call(operation);
  call.communicator = communicator_of(context);
  call.rank = event.rank;

  if constexpr (requires { event.collective_call; })
    call.program_call = to_handle(event.parent);
  else
    call.plan = to_handle(event.parent);
  if constexpr (requires { operation.group; }) call.plan = to_handle(operation.group);

  return recorder.begin_call(call);
}

/// The handle for a call that the program makes.
template <class Operation>
uint64_t start_program_call(Recorder& recorder, void* context, void* group,
                            Operation const& operation) {
  Call call = to_call(operation);
  call.communicator = communicator_of(context);
  call.plan = to_handle(group);
  return recorder.begin_program_call(call);
}

/// What only versions that tell the program's calls have.
template <class Event>
uint64_t start_newer_event(Recorder& recorder, void* context, Event const& event) {
  switch (event.type) {
    case kGroupCall:
      return recorder.begin_group();
    case kCollectiveCall:
      return start_program_call(recorder, context, event.parent, event.collective_call);
    case kPointToPointCall:
      return start_program_call(recorder, context, event.parent, event.point_to_point_call);
    case kKernelLaunch:
      return recorder.begin_launch(to_handle(event.parent), communicator_of(context));
    case kCopyEngine:
      if constexpr (requires { event.copy_engine; })
        return start_operation(recorder, context, event, event.copy_engine);
      return 0;
    default:
      return 0;
  }
}

/// The handle for the event; 0 = it is not recorded.
template <class Event>
uint64_t start_event(Recorder& recorder, void* context, Event const& event) {
  switch (static_cast<uint64_t>(event.type)) {
    case kGroup:
      return recorder.begin_plan();
    case kCollective:
      return start_operation(recorder, context, event, event.collective);
    case kPointToPoint:
      return start_operation(recorder, context, event, event.point_to_point);
    case kProxyOp:
      return event.proxy_op.process == recorder.ids().process
                 ? recorder.begin_network_op(to_handle(event.parent))
                 : 0;
    case kProxyStep:
      return recorder.begin_network_step(to_handle(event.parent));
    default:
      if constexpr (requires { event.collective_call; })
        return start_newer_event(recorder, context, event);
      return 0;
  }
}

}  // namespace stepscope::tracer::nccl
