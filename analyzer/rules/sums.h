// Runs that only have sums of each step (trace/stream): nothing in them has an order or a cause.
#pragma once

#include <string_view>

#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Whether any process of the run is a stream of steps.
bool is_of_sums(model::Run const& run);

/// Whether a rule needs no more than sums.
bool speaks_of_sums(std::string_view rule);

}  // namespace stepscope::analyzer
