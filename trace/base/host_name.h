// The name of this machine.
#pragma once

#include <string>

namespace stepscope::base {

/// Empty where it has none.
std::string host_name();

}  // namespace stepscope::base
