// A comparison and a gate's verdict as Markdown for a pull request: verdict, a table, why, and the
// rest folded away.
#pragma once

#include <string>

#include "analyzer/compare/comparison.h"
#include "analyzer/gate/gate.h"

namespace stepscope::reports {

/// For a comparison without refusal. UTF-8, ends with a newline; at most about 60 KB, which a
/// comment may have.
std::string comparison_markdown(analyzer::Comparison const& comparison);
/// For a result without refusal. Likewise.
std::string gate_markdown(analyzer::GateResult const& result);

}  // namespace stepscope::reports
