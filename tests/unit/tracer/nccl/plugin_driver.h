// NCCL's side of the profiler plugin: what it calls for a communicator with five all-reduces, by
// any version of the interface, and a process to do it in.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <type_traits>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/support/paths.h"
#include "tracer/core/clock.h"
#include "tracer/nccl/abi.h"

namespace stepscope::tracer::nccl {

inline std::string const kLibrary = support::build_path("lib/libstepscope-tracer.so");
inline constexpr uint64_t kHash = 0xFEED'0000'1234;
inline constexpr size_t kCollectives = 5;
inline constexpr int64_t kNetworkNs = 50'000;

template <class Plugin>
Plugin const* find_plugin(char const* symbol) {
  void* const library = ::dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? static_cast<Plugin const*>(::dlsym(library, symbol)) : nullptr;
}

inline int init(PluginV1 const& plugin, void** context, int* mask) {
  return plugin.init(context, mask);
}
inline int init(PluginV2 const& plugin, void** context, int* mask) {
  return plugin.init(context, mask);
}
inline int init(PluginV3 const& plugin, void** context, int* mask) {
  return plugin.init(context, mask);
}
inline int init(PluginV4 const& plugin, void** context, int* mask) {
  return plugin.init(context, mask, "pipeline", kHash, 1, 4, 2, nullptr);
}
inline int init(PluginV5 const& plugin, void** context, int* mask) {
  return plugin.init(context, kHash, mask, nullptr, 1, 4, 2, nullptr);
}
inline int init(PluginV6 const& plugin, void** context, int* mask) {
  return plugin.init(context, kHash, mask, "tensor parallel", 1, 4, 2, nullptr);
}

/// The events that the plugin may request from that version of NCCL.
template <class Event>
constexpr int whole_mask() {
  uint64_t mask = kGroup | kCollective | kPointToPoint | kProxyOp | kProxyStep;
  if constexpr (requires(Event event) { event.collective_call; })
    mask |= kGroupCall | kCollectiveCall | kPointToPointCall | kKernelLaunch;
  if constexpr (requires(Event event) { event.copy_engine; }) mask |= kCopyEngine;
  return static_cast<int>(mask);
}

template <class Event>
Event plain_event(uint64_t type, void* parent) {
  Event event;
  std::memset(static_cast<void*>(&event), 0, sizeof event);
  event.type = static_cast<decltype(event.type)>(type);
  event.parent = parent;
  return event;
}

template <class Event>
Event all_reduce(void* group, void* program_call, uint64_t sequence) {
  auto event = plain_event<Event>(kCollective, group);
  if constexpr (requires { event.collective_call; }) event.parent = program_call;
  event.rank = 2;
  event.collective.sequence = sequence;
  event.collective.count = 1'000;

  if constexpr (std::is_same_v<Event, EventV1>) {
    event.collective.function = 4;
    event.collective.data_type = 7;
  } else {
    event.collective.function = "AllReduce";
    event.collective.data_type = "ncclFloat32";
    event.collective.algorithm = "RING";
    event.collective.protocol = "LL";
  }

  if constexpr (requires { event.collective.communicator; }) event.collective.communicator = kHash;
  if constexpr (requires { event.collective.group; }) event.collective.group = group;
  return event;
}

/// Reports the program's call and its launch in versions that have them; returns the call's handle.
template <class Plugin, class Event>
void* call_and_launch(Plugin const& plugin, void* context) {
  if constexpr (requires(Event event) { event.collective_call; }) {
    std::array<void*, 3> handles{};  // group, call, launch
    auto const group = plain_event<Event>(kGroupCall, nullptr);
    plugin.start_event(context, &handles[0], &group);

    auto call = plain_event<Event>(kCollectiveCall, handles[0]);
    call.collective_call.function = "AllReduce";
    call.collective_call.count = 1'000;
    call.collective_call.data_type = "ncclFloat32";
    plugin.start_event(context, &handles[1], &call);
    plugin.stop_event(handles[1]);

    auto const launch = plain_event<Event>(kKernelLaunch, handles[0]);
    plugin.start_event(context, &handles[2], &launch);
    plugin.stop_event(handles[2]);
    plugin.stop_event(handles[0]);
    return handles[1];
  } else {
    return nullptr;
  }
}

/// Reports a plan of one collective as NCCL does; false when it gets no handle.
template <class Init, class Event>
bool enqueue_all_reduce(Plugin<Init, Event> const& plugin, void* context, uint64_t sequence) {
  void* const program_call = call_and_launch<Plugin<Init, Event>, Event>(plugin, context);

  auto const plan = plain_event<Event>(kGroup, nullptr);
  void* plan_handle = nullptr;
  void* handle = nullptr;
  plugin.start_event(context, &plan_handle, &plan);

  auto const event = all_reduce<Event>(plan_handle, program_call, sequence);
  plugin.start_event(context, &handle, &event);
  plugin.stop_event(handle);
  plugin.stop_event(plan_handle);
  return handle != nullptr;
}

/// A send and the transfer that a network thread makes for it.
template <class Init, class Event>
bool send_over_network(Plugin<Init, Event> const& plugin, void* context) {
  auto send = plain_event<Event>(kPointToPoint, nullptr);
  send.rank = 2;
  send.point_to_point.count = 250;
  send.point_to_point.peer = 3;
  if constexpr (std::is_same_v<Event, EventV1>) {
    send.point_to_point.function = 6;
    send.point_to_point.data_type = 7;
  } else {
    send.point_to_point.function = "Send";
    send.point_to_point.data_type = "ncclFloat32";
  }

  std::array<void*, 3> handles{};  // send, operation, step
  plugin.start_event(context, &handles[0], &send);
  plugin.stop_event(handles[0]);

  auto operation = plain_event<Event>(kProxyOp, handles[0]);
  operation.proxy_op.process = ::getpid();
  plugin.start_event(context, &handles[1], &operation);

  auto const step = plain_event<Event>(kProxyStep, handles[1]);
  plugin.start_event(context, &handles[2], &step);
  uint64_t const sent_bytes = 0;  // NCCL passes it with each state of a step
  plugin.record_state(handles[2], kSendWait, &sent_bytes);
  for (int64_t const until = monotonic_ns() + kNetworkNs; monotonic_ns() < until;) {
  }

  plugin.stop_event(handles[2]);
  plugin.stop_event(handles[1]);
  return handles[2] != nullptr;
}

/// Everything that any version has, which a plugin behind Stepscope's may ask for.
inline constexpr int kMaskOfAll = 0x7FFF;

/// What NCCL does in a program with one communicator; a process' exit status. `expected_mask`: what
/// the plugin shall ask for; 0 = what Stepscope asks for.
template <class Init, class Event>
int use(Plugin<Init, Event> const* plugin, int expected_mask = 0) {
  void* context = nullptr;
  int mask = 0;
  if (plugin == nullptr || init(*plugin, &context, &mask) != kSuccess) return 10;
  int const expected = expected_mask != 0 ? expected_mask : whole_mask<Event>();
  if (context == nullptr || mask != expected) return 11;

  for (uint64_t i = 0; i < kCollectives; ++i)
    if (!enqueue_all_reduce(*plugin, context, i)) return 12;
  if (!send_over_network(*plugin, context)) return 13;
  return plugin->finalize(context) == kSuccess ? 0 : 14;
}

}  // namespace stepscope::tracer::nccl
