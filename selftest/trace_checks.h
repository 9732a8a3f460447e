// What the trace of a bundled workload must hold, by the workload's own summary (`stepscope run …
// --json`). Pure: no program is run here.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "selftest/selftest.h"
#include "trace/model/run.h"

namespace stepscope::selftest {

/// `summary`: the workload's. One check a question.
std::vector<Check> check_trace(model::Run const& run, nlohmann::json const& summary);

/// Tolerance for a GPU's clock, as CUPTI converts it, against the host's. On H100 and H200 kernels
/// may appear to begin up to 10 µs before the call that launches them; far more has another reason.
inline constexpr int64_t kGpuClockToleranceNs = 50'000;

/// Every launch has its device op and the other way round, none begins longer than the tolerance
/// before its launch, nothing was dropped or cut. What is wrong, in words; empty = nothing.
std::string faults_of(model::Run const& run, int64_t clock_tolerance_ns);

/// The verdict on a recording. `found` describes it; `wrong` lists faults besides those of its
/// trace. A failure adds the capture's own words (facts about CUDA, notes). A GPU clock that is
/// early is a warning. `numbers`: ops_before_launch, device_clock_early_ns.
Check judge(std::string name, model::Run const& run, std::string const& wrong, std::string found,
            int64_t clock_tolerance_ns);

}  // namespace stepscope::selftest
