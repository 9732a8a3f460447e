// Negotiations of collectives: before each collective Horovod's rank 0 waits until all ranks have
// said that they are ready. Its timeline (HOROVOD_TIMELINE) has a range NEGOTIATE_… a tensor and
// collective, and in it an instant a rank, named by its number.
#pragma once

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// None where the process's threads tell of no negotiation of two ranks or more. O(strings), and
/// O(events) where a name begins as those of negotiations do.
std::optional<NegotiationStats> find_negotiations(model::RankTrace const& rank, int32_t rank_index);

}  // namespace stepscope::analyzer
