// What NCCL loads: the structs that it looks for, one a version. NCCL takes the newest that it
// knows and finds. Behind another plugin (chain/) it finds only versions that this one has, too.
#include <array>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "tracer/core/options.h"
#include "tracer/inject/process.h"
#include "tracer/nccl/adapters.h"
#include "tracer/nccl/chain/other_plugin.h"
#include "tracer/nccl/chain/plugin_pair.h"

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

constexpr PluginV1 kPluginV1 = {kName, init_unnamed<1>, start, stop, record_state, finalize};
constexpr PluginV2 kPluginV2 = {kName, init_unnamed<2>, start, stop, record_state, finalize};
constexpr PluginV3 kPluginV3 = {kName, init_unnamed<3>, start, stop, record_state, finalize};
constexpr PluginV4 kPluginV4 = {kName, init_v4, start, stop, record_state, finalize};
constexpr PluginV5 kPluginV5 = {kName, init_named<5>, start, stop, record_state, finalize};
constexpr PluginV6 kPluginV6 = {kName, init_named<6>, start, stop, record_state, finalize};

/// Looked for once, when NCCL first asks for a version: then no thread of NCCL uses a plugin yet.
OtherPlugin const& other_plugin() {
  static auto const* const plugin =
      new OtherPlugin(load_other_plugin(std::getenv(kOtherNcclPluginVariable)));
  return *plugin;
}

void describe_failed_plugin() try {
  process_communicators().set_other_plugin(
      {}, fmt::format("the NCCL profiler plugin {} did not start: its init() returned an error, so "
                      "that it gets nothing of that communicator",
                      other_plugin().path));
} catch (...) {
  return;  // no memory for the text
}

SharedPlugins& shared_plugins() {
  static auto* const plugins = [] {
    auto* const made = new SharedPlugins;
    made->when_other_fails = describe_failed_plugin;
    return made;
  }();
  return *plugins;
}

void describe_other_plugin(OtherPlugin const& other, int version, OtherPlugin::Use use) {
  std::string description;
  std::string problem = other.problem;
  if (use == OtherPlugin::Use::kTogether)
    description = "together with the plugin " + other.path;
  else if (problem.empty() && !other.path.empty())
    problem = fmt::format(
        "the NCCL profiler plugin {} speaks versions {} of the interface, this NCCL {} at most, so "
        "that the plugin gets nothing",
        other.path, other.versions(), version);

  process_communicators().set_other_plugin(std::move(description), std::move(problem));
}

/// What NCCL finds as that version: both plugins, ours alone, or nothing, so that it asks for an
/// older version that both have.
template <class Table>
void const* find_table(int version, Table const& own) noexcept try {
  OtherPlugin const& other = other_plugin();
  OtherPlugin::Use const use = other.use_of(version);
  if (use == OtherPlugin::Use::kNotThis) return nullptr;

  describe_other_plugin(other, version, use);
  if (use == OtherPlugin::Use::kAlone) return &own;
  auto const& its = *static_cast<Table const*>(other.tables[static_cast<size_t>(version)]);
  return PluginPair<Table>::join(shared_plugins(), own, its);
} catch (...) {
  return &own;  // no memory: NCCL goes on without the other
}

/// Nothing calls it: NCCL gets its address as that of a struct.
using Symbol = void (*)();
template <class Table>
Symbol as_symbol(int version, Table const& own) noexcept {
  return reinterpret_cast<Symbol>(const_cast<void*>(find_table(version, own)));
}

}  // namespace
}  // namespace stepscope::tracer::nccl

// NOLINTBEGIN(readability-identifier-naming): names that NCCL looks for.
extern "C" {
using namespace stepscope::tracer::nccl;  // NOLINT(google-build-using-namespace)

// dlsym() calls these for the symbols below, which have no place of their own (STT_GNU_IFUNC).
Symbol stepscope_find_nccl_v1() { return as_symbol(1, kPluginV1); }
Symbol stepscope_find_nccl_v2() { return as_symbol(2, kPluginV2); }
Symbol stepscope_find_nccl_v3() { return as_symbol(3, kPluginV3); }
Symbol stepscope_find_nccl_v4() { return as_symbol(4, kPluginV4); }
Symbol stepscope_find_nccl_v5() { return as_symbol(5, kPluginV5); }
Symbol stepscope_find_nccl_v6() { return as_symbol(6, kPluginV6); }

#pragma GCC visibility push(default)
void ncclProfiler_v1() __attribute__((ifunc("stepscope_find_nccl_v1")));
void ncclProfiler_v2() __attribute__((ifunc("stepscope_find_nccl_v2")));
void ncclProfiler_v3() __attribute__((ifunc("stepscope_find_nccl_v3")));
void ncclProfiler_v4() __attribute__((ifunc("stepscope_find_nccl_v4")));
void ncclProfiler_v5() __attribute__((ifunc("stepscope_find_nccl_v5")));
void ncclProfiler_v6() __attribute__((ifunc("stepscope_find_nccl_v6")));
#pragma GCC visibility pop
}
// NOLINTEND(readability-identifier-naming)
