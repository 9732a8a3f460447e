// The replay of a run with changes as a person reads it in a terminal. What to do first comes
// first, then how far to trust it, the fixes of the findings in sequence, and the changes asked
// for.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/whatif_stats.h"
#include "reports/text/text.h"

namespace stepscope::reports {

/// UTF-8, ends with a newline. Text from the trace and the command line is made printable.
std::string whatif_text(model::Run const& run, analyzer::Analysis const& analysis,
                        analyzer::WhatIfStats const& stats, TextOptions const& options = {});

}  // namespace stepscope::reports
