// What rules found on the sides of a comparison: what is found no longer, what is new, and what the
// base's replay had promised for each cure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"
#include "analyzer/results/finding.h"

namespace stepscope::analyzer {

/// One rule on both sides.
struct FindingChange {
  struct Side {
    size_t runs = 0;                      ///< that have the finding
    Severity severity = Severity::kInfo;  ///< the gravest
    std::optional<double> cost_ns;        ///< per step, on the device that it costs most; mean
                                          ///< of the runs that have it
    /// Finding::gain_alone, mean of the runs that have it; none where a run that has the finding
    /// has no replay.
    std::optional<double> gain;
  };
  std::string rule;
  Side base, candidate;
};

/// Rules that found a warning or worse in a run of either side: those of the base first, what costs
/// most first. Nothing where the findings of a run are not known.
std::vector<FindingChange> compare_findings(std::vector<RunMeasurements> const& base,
                                            std::vector<RunMeasurements> const& candidate);

}  // namespace stepscope::analyzer
