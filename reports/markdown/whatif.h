// The replay of a run with changes as Markdown, for a pull request, an issue or a wiki. The order
// is that of the text: what to do first, the trust in it, fixes of the findings, changes asked for.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/whatif_stats.h"

namespace stepscope::reports {

/// UTF-8, ends with a newline. Tables are GitHub's.
std::string whatif_markdown(model::Run const& run, analyzer::Analysis const& analysis,
                            analyzer::WhatIfStats const& stats);

}  // namespace stepscope::reports
