// A comparison as JSON, schema 1 of docs/guide/COMPARE.md: every key is a contract.
#pragma once

#include <string>

#include "analyzer/compare/comparison.h"

namespace stepscope::reports {

/// For a comparison without refusal. Valid UTF-8, ends with a newline.
std::string comparison_json(analyzer::Comparison const& comparison);

}  // namespace stepscope::reports
