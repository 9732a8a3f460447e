// Which memory curves to draw, and which of their points.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// The devices with a curve, by ref; of more than `most` those with the highest peaks.
std::vector<DeviceStats const*> fullest_devices(Analysis const& analysis, size_t most);

/// Indices of the points to draw: at most about 2 × buckets, the largest allocation of every bucket
/// and the last point among them.
std::vector<size_t> thinned_memory(MemoryTimeline const& points, size_t buckets);

}  // namespace stepscope::analyzer
