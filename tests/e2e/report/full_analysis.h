// An analysis that has every number a page can show, whatever the run was. No synthetic run fills
// all sections of a page.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"

namespace stepscope::support {

/// Adds a pipeline, graphs, phases, ranges, health, memory owners and the like, on the analysis'
/// first devices, which must be two at least. All of their texts begin with `name`.
void add_all_facts(analyzer::Analysis& analysis, std::string const& name);

}  // namespace stepscope::support
