// What the findings about steps that take longer than others say of their numbers.
#pragma once

#include "reports/words/findings/finding_context.h"

namespace stepscope::reports {

/// throttling.
std::string describe_throttling(FindingContext const& seen);
/// warmup-in-measurement.
std::string describe_warmup(FindingContext const& seen);
/// step-outliers.
std::string describe_outliers(FindingContext const& seen);

}  // namespace stepscope::reports
