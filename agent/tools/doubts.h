// What a recording cannot tell, as sentences, so that an agent does not fill it with guesses.
#pragma once

#include <string>
#include <vector>

#include "agent/run_store.h"

namespace stepscope::agent {

/// Missing devices, steps, collectives and memory; damage and what it weakens; what opening the run
/// noted. Trace text in it is printable.
std::vector<std::string> doubts_of(OpenRun const& run);
/// The same as a Markdown section; empty without doubts.
std::string doubts_markdown(std::vector<std::string> const& doubts);

}  // namespace stepscope::agent
