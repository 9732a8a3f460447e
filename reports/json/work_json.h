// The part of the JSON about what devices did: launches, slow time, kernels, host ranges, graphs
// and copies.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

nlohmann::ordered_json launch_json(analyzer::LaunchStats const& launch);
nlohmann::ordered_json slow_json(analyzer::SlowTime const& slow);
nlohmann::ordered_json kernels_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json ops_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json graphs_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json copies_json(model::Run const& run, analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
