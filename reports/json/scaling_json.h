// A scaling series as JSON, schema 1 of docs/guide/SCALING.md: every key is a contract.
#pragma once

#include <string>

#include "analyzer/scaling/series.h"

namespace stepscope::reports {

/// For a series without refusal. Valid UTF-8, ends with a newline.
std::string scaling_json(analyzer::ScalingSeries const& series);

}  // namespace stepscope::reports
