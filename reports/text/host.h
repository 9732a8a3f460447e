// The tables of processes that used no device: time by range, busy threads, who came last to
// negotiations.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "reports/text/layout.h"

namespace stepscope::reports {

/// Empty where nothing of a host is known.
std::string hosts_text(model::Run const& run, analyzer::Analysis const& analysis,
                       Paint const& paint, int width);

}  // namespace stepscope::reports
