// The part of the JSON about devices that wait for each other: who causes it, and pipelines
// (docs/reference/ANALYSIS_JSON.md).
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

nlohmann::ordered_json waits_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json pipelines_json(model::Run const& run, analyzer::Analysis const& analysis);
/// Null for runs whose devices name no stages.
nlohmann::ordered_json slowdown_json(model::Run const& run, analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
