// What is not the same for both sides beside their steps: where they ran, by what they were
// recorded, how much data they take.
#pragma once

#include "analyzer/compare/comparison.h"

namespace stepscope::analyzer {

/// In the order of Condition. Where a side's runs differ among themselves all their values are
/// named.
std::vector<Difference> find_differences(std::vector<RunMeasurements> const& base,
                                         std::vector<RunMeasurements> const& candidate);

}  // namespace stepscope::analyzer
