// What the trace of the plain CUDA program must hold, by what the program says of itself
// (cuda_probe/cuda_probe.cu). Pure: no program is run here.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "trace/model/run.h"

namespace stepscope::selftest {

/// For counts that a program does not report: any number is accepted.
inline constexpr uint64_t kAny = UINT64_MAX;

/// Device work, as a program asked for it or as a trace shows it.
struct Work {
  uint64_t kernels = 0, launches = 0, streams = 0;
  uint64_t to_device = 0, to_device_bytes = 0, to_host = 0, to_host_bytes = 0, on_device = 0,
           on_device_bytes = 0;
  uint64_t pinned = 0;
  uint64_t memsets = 0, memset_bytes = 0;
  uint64_t allocations = 0, allocated_bytes = 0, frees = 0;
  uint64_t stream_waits = 0;
  uint64_t name_bytes = 0;  ///< of the longest kernel name; asked for: at least
};

/// The sum over the processes that printed something; kAny where one of them left it out.
Work asked_for(std::span<nlohmann::json const> output);
/// The sum over the processes of the run.
Work found_in(model::Run const& run);

/// "kernels 999 of 1000, …": everything in which the two differ; empty = nothing.
std::string differences(Work const& found, Work const& asked);
/// "1,000 kernels, 25 copies of 9.06 MiB, …"
std::string describe(Work const& work);

}  // namespace stepscope::selftest
