// Where a finding's evidence is, in steps.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// " (step 9)", " (steps 9:10)": what `--steps` of slice and analyze would take to have the place;
/// empty if no step has some of it. Between its steps a device is idle: the host's tell there.
std::string steps_of_place(analyzer::Analysis const& analysis,
                           analyzer::Finding::Evidence const& place);

}  // namespace stepscope::reports
