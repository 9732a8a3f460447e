// A gate's verdict as JSON, schema 1 of docs/guide/GATE.md: every key is a contract.
#pragma once

#include <string>

#include "analyzer/gate/gate.h"

namespace stepscope::reports {

/// For a result without refusal. Valid UTF-8, ends with a newline.
std::string gate_json(analyzer::GateResult const& result);

}  // namespace stepscope::reports
