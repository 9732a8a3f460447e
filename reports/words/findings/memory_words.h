// What the findings about device memory say of their numbers.
#pragma once

#include "reports/words/findings/finding_context.h"

namespace stepscope::reports {

/// memory-leak.
std::string describe_leak(FindingContext const& seen);
/// memory-fragmentation.
std::string describe_holes(FindingContext const& seen);
/// memory-pressure.
std::string describe_pressure(FindingContext const& seen);

}  // namespace stepscope::reports
