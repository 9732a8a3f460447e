// The binary interface of NCCL's profiler plugins, versions 1 to 6 (from NCCL 2.23 on), as far as
// this plugin reads it. It has the structs that NCCL passes and the struct of functions that NCCL
// looks for under the name ncclProfiler_v<N>. Only this folder knows it. The declarations are our
// own, after NCCL's public plugin headers (src/include/plugin/profiler). Members of an event that
// no code here reads are left out at the end of their struct, since NCCL allocates every event.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/nccl/abi_events.h"

namespace stepscope::tracer::nccl {

/// ncclResult_t: the plugin only ever answers 0, success.
using Result = int;
inline constexpr Result kSuccess = 0;

/// Bits of the activation mask, and the types of events.
inline constexpr uint64_t kGroup = 1 << 0;  ///< a plan: what shares a kernel
inline constexpr uint64_t kCollective = 1 << 1;
inline constexpr uint64_t kPointToPoint = 1 << 2;
inline constexpr uint64_t kProxyOp =
    1 << 3;  ///< a channel's share of an operation, on a network thread
inline constexpr uint64_t kProxyStep = 1 << 4;  ///< one transfer of it
// What Stepscope does not ask for, and other plugins may.
inline constexpr uint64_t kKernelChannel = 1 << 6;  ///< a channel's share of a kernel
inline constexpr uint64_t kNetworkPlugin = 1 << 7;  ///< what a network plugin reports of a step
// From version 5 on: what the program called, and the launch of a plan's kernel, on the threads
// that do it.
inline constexpr uint64_t kGroupCall = 1 << 8;  ///< of a call outside of ncclGroupStart too
inline constexpr uint64_t kCollectiveCall = 1 << 9;
inline constexpr uint64_t kPointToPointCall = 1 << 10;
inline constexpr uint64_t kKernelLaunch = 1 << 11;
inline constexpr uint64_t kCopyEngine =
    1 << 12;  ///< from version 6 on: a collective of copies, without a kernel
inline constexpr uint64_t kCopyEngineSync = 1 << 13;   ///< its ranks wait for each other
inline constexpr uint64_t kCopyEngineBatch = 1 << 14;  ///< some of its copies

/// States of a proxy step that are told apart: what it waits for from here on.
enum State : int {
  kSendGpuWait = 8,        ///< the GPU has not filled the buffer
  kSendWait = 9,           ///< the network sends
  kReceiveWait = 10,       ///< the network receives
  kReceiveFlushWait = 11,  ///< received data are on their way to the GPU
  kReceiveGpuWait = 12,    ///< the GPU has not emptied the buffer
  kSendPeerWait = 20,      ///< the receiver has no buffer free (from version 4 on)
};

using Logger = void (*)(int level, unsigned long flags, char const* file, int line,
                        char const* format, ...);

/// What NCCL looks for; `Init` and `Event` are those of the version. A handle is whatever
/// start_event() wrote.
template <class Init, class Event>
struct Plugin {
  char const* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Event const* event);
  Result (*stop_event)(void* handle);
  Result (*record_state)(void* handle, int state, void const* arguments);
  Result (*finalize)(void* context);
};

using InitV1 = Result (*)(void** context, int* activation_mask);
using InitV4 = Result (*)(void** context, int* activation_mask, char const* name,
                          uint64_t communicator, int nodes, int ranks, int rank, Logger log);
using InitV5 = Result (*)(void** context, uint64_t communicator, int* activation_mask,
                          char const* name, int nodes, int ranks, int rank, Logger log);

using PluginV1 = Plugin<InitV1, EventV1>;
using PluginV2 = Plugin<InitV1, EventV2>;
using PluginV3 = Plugin<InitV1, EventV3>;
using PluginV4 = Plugin<InitV4, EventV4>;
using PluginV5 = Plugin<InitV5, EventV5>;
using PluginV6 = Plugin<InitV5, EventV6>;

}  // namespace stepscope::tracer::nccl
