// Which events NCCL reports to a plugin that wants some, after src/plugin/profiler.cc of NCCL 2.23
// to 2.30: an event comes also as the parent of one that is wanted. The chain
// follows these rules to tell which of two plugins with one mask gets an event.
#pragma once

#include <cstdint>

#include "tracer/nccl/abi.h"

namespace stepscope::tracer::nccl {

/// Whether NCCL would report events of the type to a plugin that asked for `mask`.
constexpr bool reports_event(uint64_t mask, uint64_t type) {
  constexpr uint64_t kBelowStep = kProxyStep | kNetworkPlugin;
  constexpr uint64_t kBelowOp = kProxyOp | kBelowStep;
  constexpr uint64_t kBelowTask = kBelowOp | kKernelChannel;
  constexpr uint64_t kOfCopyEngine = kCopyEngine | kCopyEngineSync | kCopyEngineBatch;
  constexpr uint64_t kTasks = kCollective | kPointToPoint | kBelowTask;
  constexpr uint64_t kCalls = kGroupCall | kCollectiveCall | kPointToPointCall;

  switch (type) {
    case kGroup:
      return (mask & (kGroup | kTasks)) != 0;
    case kCollective:
    case kPointToPoint:
      return (mask & (type | kBelowTask)) != 0;
    case kProxyOp:
      return (mask & kBelowOp) != 0;
    case kProxyStep:
      return (mask & kBelowStep) != 0;

    case kGroupCall:
      return (mask & (kCalls | kKernelLaunch | kGroup | kTasks | kOfCopyEngine)) != 0;
    case kCollectiveCall:
      return (mask & (type | kCollective | kBelowTask | kOfCopyEngine)) != 0;
    case kPointToPointCall:
      return (mask & (type | kPointToPoint | kBelowTask)) != 0;
    case kCopyEngine:
      return (mask & kOfCopyEngine) != 0;
    default:
      return (mask & type) != 0;
  }
}

}  // namespace stepscope::tracer::nccl
