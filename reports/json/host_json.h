// What the host did, as JSON: phases, and idle time by host op (docs/reference/ANALYSIS_JSON.md).
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

nlohmann::ordered_json phases_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json host_ops_json(model::Run const& run, analyzer::Analysis const& analysis);

/// Processes that used no device, and negotiations of collectives.
nlohmann::ordered_json hosts_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json negotiations_json(model::Run const& run, analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
