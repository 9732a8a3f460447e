// Means and medians over the records of a stream, as live_run.h judges by them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "analyzer/live/live_run.h"
#include "trace/stream/step_record.h"

namespace stepscope::analyzer {

/// Steps that are judged together, and those at the begin that are not: they compile and warm up.
inline constexpr size_t kLiveBlock = 16, kLiveWarmup = 8;
/// Medians of blocks vary, and the shortest of many lies below the typical one by this many
/// spreads.
inline constexpr int64_t kLiveSpreads = 3;

/// What each part of a step takes more than before.
using PartsOfTime = std::array<int64_t, stream::kTimeParts>;

/// 0 where there is no whole.
double share_of(int64_t part, int64_t whole);

struct Spread {
  int64_t median, distance;  ///< distance: the median of those from the median
};
/// `values`: not empty; they are changed.
Spread spread_of(std::vector<int64_t>& values);

/// The last records, at most `most`.
LiveMeans means_of(std::deque<stream::StepRecord> const& records, size_t most);
/// What half of the last steps have at most: single slow steps do not count.
int64_t typical_part(std::deque<stream::StepRecord> const& records, stream::TimePart part);

/// Least and most memory of each block of records, the latest last.
struct BlockPeaks {
  std::vector<int64_t> least, most;
};
BlockPeaks peaks_of(std::deque<stream::StepRecord> const& records,
                    int64_t stream::StepRecord::*bytes);
/// Whether each of the last blocks, so many, is above the one before.
bool rises(std::vector<int64_t> const& blocks, size_t last);

}  // namespace stepscope::analyzer
