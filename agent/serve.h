// The server on two descriptors: one thread reads, another answers, so that a client can ping and
// cancel while a run is analyzed.
#pragma once

#include <string>

#include "agent/run_store.h"
#include "trace/base/expected.h"

namespace stepscope::agent {

/// Answers lines from `input` on `output` until the input ends; what was asked before is answered.
/// Errors: the output takes no more.
base::Expected<void> serve(RunStore& runs, std::string const& version, int input, int output);

}  // namespace stepscope::agent
