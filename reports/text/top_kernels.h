// A part of the text: the kernels with most time.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "reports/text/layout.h"

namespace stepscope::reports {

/// A line for each of the three kernels with most time, summed over the analyzed devices and steps,
/// warm-up and communication included: the first lines of `stepscope top`. Empty without kernels.
std::string top_kernels_text(analyzer::Analysis const& analysis, Paint const& paint, int width);

}  // namespace stepscope::reports
