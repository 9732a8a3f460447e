// What the analysis says of processes without a device, and of negotiations, as tables.
#pragma once

#include <vector>

#include "query/tables/fact_tables.h"

namespace stepscope::query {

/// host_steps, host_ranges, host_threads, negotiations.
std::vector<FactTable> host_tables();

}  // namespace stepscope::query
