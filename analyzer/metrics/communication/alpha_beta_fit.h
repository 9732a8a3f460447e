// How fast a communicator is: t = alpha + bytes / beta over its complete collectives of one op
// (DEFINITIONS, "Communication"). Robust: the median transfer of every message size, then least
// squares over the sizes, weighted by how often each came. No fit with fewer than two sizes, or
// where larger messages are not slower by more than what messages vary by. beta is in terms of
// algbw.
#pragma once

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Sorted by (communicator, op).
std::vector<LinkFit> fit_links(std::vector<CollectiveStats> const& collectives);

}  // namespace stepscope::analyzer
