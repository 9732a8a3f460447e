// The critical path as JSON (docs/reference/ANALYSIS_JSON.md).
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// null without a path.
nlohmann::ordered_json critical_path_json(model::Run const& run,
                                          analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
