// What kind of program a run is of, as far as findings and their advice depend on it.
#pragma once

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Whether names show that the program serves or samples a model. Its steps are those of a server
/// or of sampling, or kernels are those of a server; and nothing shows gradients or an optimizer.
/// False where names do not show it.
bool is_inference(model::Run const& run, Analysis const& facts);

}  // namespace stepscope::analyzer
