// What the findings about device memory say of their numbers.
#pragma once

#include "reports/words/finding_context.h"

namespace stepscope::reports {

/// memory-leak.
std::string say_leak(Seen const& seen);
/// memory-fragmentation.
std::string say_holes(Seen const& seen);
/// memory-pressure.
std::string say_pressure(Seen const& seen);

}  // namespace stepscope::reports
