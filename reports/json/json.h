// The analysis as JSON, schema 1: names and meanings are a contract (docs/reference/DEFINITIONS.md;
// every key: docs/reference/ANALYSIS_JSON.md).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// UTF-8, indented, ends with a newline. Times are decimal integers, absent facts are null, invalid
/// UTF-8 of the trace becomes U+FFFD.
std::string analysis_json(model::Run const& run, analyzer::Analysis const& analysis);

/// Its members "summary" and "findings" alone.
nlohmann::ordered_json summary_json(model::Run const& run, analyzer::Analysis const& analysis);
nlohmann::ordered_json findings_json(model::Run const& run, analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
