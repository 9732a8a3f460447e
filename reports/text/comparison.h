// A comparison as a person reads it in a terminal in 20 seconds: what was not the same, verdict,
// why, single numbers, doubts.
#pragma once

#include <string>

#include "analyzer/compare/comparison.h"
#include "reports/text/text.h"

namespace stepscope::reports {

/// For a comparison without refusal. UTF-8, ends with a newline. Text from the traces is made
/// printable.
std::string comparison_text(analyzer::Comparison const& comparison,
                            TextOptions const& options = {});

}  // namespace stepscope::reports
