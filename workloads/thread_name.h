// Names of threads, as tools show them.
#pragma once

#include <string>

namespace stepscope::workloads {

/// Names the calling thread for the operating system (15 characters) and for tracers (all of them).
void name_this_thread(std::string const& name);

}  // namespace stepscope::workloads
