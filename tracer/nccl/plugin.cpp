// What NCCL loads: the structs that it looks for, one a version. NCCL takes the newest that it
// knows.
#include "tracer/inject/process.h"
#include "tracer/nccl/adapters.h"

namespace stepscope::tracer::nccl {
namespace {

Result join(void** context, int* activation_mask, Communicator communicator) {
  if (context == nullptr || activation_mask == nullptr) return kSuccess;
  *context = nullptr;
  // The mask is one for all communicators: those that are at work must not see it change.
  try {
    int const mask = mask_of(start_nccl(), communicator.version);
    if (mask == 0) return kSuccess;
    *context = to_pointer(uint64_t{process_communicators().add(std::move(communicator))} + 1);
    *activation_mask = mask;
  } catch (...) {
    *context = nullptr;  // no memory: NCCL goes on without us
  }
  return kSuccess;
}

Communicator describe(uint64_t hash, char const* name, int ranks, int rank, int version) {
  return {hash, rank, ranks > 0 ? static_cast<uint32_t>(ranks) : 0, name != nullptr ? name : "",
          version};
}

Result describe_and_join(void** context, int* activation_mask, char const* name, uint64_t hash,
                         int ranks, int rank, int version) try {
  return join(context, activation_mask, describe(hash, name, ranks, rank, version));
} catch (...) {
  return join(context, activation_mask,
              describe(hash, nullptr, ranks, rank, version));  // no memory for the name
}

template <int kVersion>
Result init_unnamed(void** context, int* activation_mask) {
  return join(context, activation_mask, describe(0, nullptr, 0, -1, kVersion));
}

Result init_v4(void** context, int* activation_mask, char const* name, uint64_t communicator,
               int /*nodes*/, int ranks, int rank, Logger /*log*/) {
  return describe_and_join(context, activation_mask, name, communicator, ranks, rank, 4);
}

template <int kVersion>
Result init_named(void** context, uint64_t communicator, int* activation_mask, char const* name,
                  int /*nodes*/, int ranks, int rank, Logger /*log*/) {
  return describe_and_join(context, activation_mask, name, communicator, ranks, rank, kVersion);
}

template <class Event>
Result start(void* context, void** handle, Event const* event) {
  if (handle == nullptr) return kSuccess;
  *handle = nullptr;
  if (event == nullptr) return kSuccess;
  if (Recorder* const thread = nccl_recorder(); thread != nullptr)
    *handle = to_pointer(start_event(*thread, context, *event));
  return kSuccess;
}

Result stop(void* handle) {
  if (handle == nullptr) return kSuccess;
  if (Recorder* const thread = nccl_recorder(); thread != nullptr) thread->end(to_handle(handle));
  return kSuccess;
}

Result record_state(void* handle, int state, void const* /*arguments*/) {
  if (handle == nullptr || !is_step_state(state)) return kSuccess;
  if (Recorder* const thread = nccl_recorder(); thread != nullptr)
    thread->wait(to_handle(handle), wait_of(state));
  return kSuccess;
}

/// A communicator's number is never given out again: what its network threads may still say is of
/// it.
Result finalize(void* /*context*/) { return kSuccess; }

constexpr char const* kName = "Stepscope";

}  // namespace
}  // namespace stepscope::tracer::nccl

// NOLINTBEGIN(readability-identifier-naming): names that NCCL looks for.
extern "C" {
using namespace stepscope::tracer::nccl;  // NOLINT(google-build-using-namespace)
__attribute__((visibility("default"))) extern PluginV1 const ncclProfiler_v1 = {
    kName, init_unnamed<1>, start, stop, record_state, finalize};
__attribute__((visibility("default"))) extern PluginV2 const ncclProfiler_v2 = {
    kName, init_unnamed<2>, start, stop, record_state, finalize};
__attribute__((visibility("default"))) extern PluginV3 const ncclProfiler_v3 = {
    kName, init_unnamed<3>, start, stop, record_state, finalize};
__attribute__((visibility("default"))) extern PluginV4 const ncclProfiler_v4 = {
    kName, init_v4, start, stop, record_state, finalize};
__attribute__((visibility("default"))) extern PluginV5 const ncclProfiler_v5 = {
    kName, init_named<5>, start, stop, record_state, finalize};
__attribute__((visibility("default"))) extern PluginV6 const ncclProfiler_v6 = {
    kName, init_named<6>, start, stop, record_state, finalize};
}
// NOLINTEND(readability-identifier-naming)
