// The replay of a run with changes as JSON, schema 1 of docs/guide/WHATIF.md: every key is a
// contract.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"
#include "analyzer/whatif/whatif_stats.h"

namespace stepscope::reports {

/// Valid UTF-8, ends with a newline.
std::string whatif_json(analyzer::Analysis const& analysis, analyzer::WhatIfStats const& stats);

}  // namespace stepscope::reports
