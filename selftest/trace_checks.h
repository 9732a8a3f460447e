// What the trace of a bundled workload must hold, by the workload's own summary (`stepscope run … --json`). Pure: no program is
// run here.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "selftest/selftest.h"
#include "trace/model/run.h"

namespace stepscope::selftest {

/// `summary`: the workload's. One check a question.
std::vector<Check> check_trace(model::Run const& run, nlohmann::json const& summary);

/// Every launch has its device op and the other way round, none begins before its launch, nothing was dropped or cut. What is
/// wrong, in words; empty = nothing.
std::string faults_of(model::Run const& run);

}  // namespace stepscope::selftest
