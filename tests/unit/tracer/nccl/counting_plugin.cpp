// A profiler plugin of somebody else's: it writes down each call, and checks that it gets back its
// own contexts and handles. COUNTING_PLUGIN_VERSIONS says which versions of the interface it has.
#include "tests/unit/tracer/nccl/counting_plugin.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

#include "tracer/nccl/abi.h"

namespace stepscope::tracer::nccl {
namespace {

/// An event or a context that it gave to NCCL.
struct Object {
  static constexpr uint64_t kAlive = 0x600D'600D'600D'600D;
  uint64_t mark = kAlive;
  uint64_t type = 0;
};

int* mask_of_nccl = nullptr;
std::atomic<int> starts{0};

void write(std::string const& line) {
  if (char const* const path = std::getenv(kCountingLog); path != nullptr)
    std::ofstream(path, std::ios::app) << line << "\n";
}

/// 0 without one, and of a context; what is not of this plugin crashes it, as one that trusts NCCL.
uint64_t type_of(void const* object) {
  if (object == nullptr) return 0;
  auto const* const own = static_cast<Object const*>(object);
  if (own->mark != Object::kAlive) std::abort();
  return own->type;
}

int number(char const* variable, int otherwise) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 0)) : otherwise;
}

Result begin(void** context, int* mask, int version) {
  constexpr int kEverything = 0x7FFF;
  *mask = number(kCountingMask, kEverything);
  mask_of_nccl = mask;
  *context = number(kCountingContext, 1) != 0 ? new Object : nullptr;
  write("init v" + std::to_string(version));
  return number(kCountingResult, 0);
}

template <int kVersion>
Result init_old(void** context, int* mask) {
  return begin(context, mask, kVersion);
}
template <int kVersion>
Result init_middle(void** context, int* mask, char const* /*name*/, uint64_t /*communicator*/,
                   int /*nodes*/, int /*ranks*/, int /*rank*/, Logger /*log*/) {
  return begin(context, mask, kVersion);
}
template <int kVersion>
Result init_new(void** context, uint64_t /*communicator*/, int* mask, char const* /*name*/,
                int /*nodes*/, int /*ranks*/, int /*rank*/, Logger /*log*/) {
  return begin(context, mask, kVersion);
}

template <class Event>
Result start(void* context, void** handle, Event const* event) {
  type_of(context);
  auto const type = static_cast<uint64_t>(event->type);
  uint64_t parent = 0;
  uint64_t group = 0;
  bool const is_foreign = type == kProxyOp && event->proxy_op.process != ::getpid();
  if (!is_foreign) parent = type_of(event->parent);
  if constexpr (requires { event->collective.group; })
    if (type == kCollective) group = type_of(event->collective.group);

  *handle = new Object{Object::kAlive, type};
  write("start " + std::to_string(type) + " parent " + std::to_string(parent) + " group " +
        std::to_string(group));
  if (++starts == number(kCountingStops, 0)) *mask_of_nccl = 0;
  return kSuccess;
}

Result stop(void* handle) {
  write("stop " + std::to_string(type_of(handle)));
  return kSuccess;
}
Result record_state(void* handle, int state, void const* /*arguments*/) {
  write("state " + std::to_string(state) + " of " + std::to_string(type_of(handle)));
  return kSuccess;
}
Result finalize(void* context) {
  type_of(context);
  write("finalize");
  return kSuccess;
}

}  // namespace
}  // namespace stepscope::tracer::nccl

// NOLINTBEGIN(readability-identifier-naming): names that NCCL looks for.
extern "C" {
using namespace stepscope::tracer::nccl;  // NOLINT(google-build-using-namespace)
#define STEPSCOPE_PLUGIN __attribute__((visibility("default"))) extern
#ifdef COUNTING_PLUGIN_IS_OLD
STEPSCOPE_PLUGIN PluginV1 const ncclProfiler_v1 = {"counting", init_old<1>,  start,
                                                   stop,       record_state, finalize};
STEPSCOPE_PLUGIN PluginV2 const ncclProfiler_v2 = {"counting", init_old<2>,  start,
                                                   stop,       record_state, finalize};
STEPSCOPE_PLUGIN PluginV3 const ncclProfiler_v3 = {"counting", init_old<3>,  start,
                                                   stop,       record_state, finalize};
STEPSCOPE_PLUGIN PluginV4 const ncclProfiler_v4 = {"counting", init_middle<4>, start,
                                                   stop,       record_state,   finalize};
#else
STEPSCOPE_PLUGIN PluginV5 const ncclProfiler_v5 = {"counting", init_new<5>,  start,
                                                   stop,       record_state, finalize};
STEPSCOPE_PLUGIN PluginV6 const ncclProfiler_v6 = {"counting", init_new<6>,  start,
                                                   stop,       record_state, finalize};
#endif
}
// NOLINTEND(readability-identifier-naming)
