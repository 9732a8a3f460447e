// What the page's script draws, as JSON: arrays thinned to what a screen can show. Times are ns
// since the run's first event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/page.h"

namespace stepscope::reports {

/// The whole data set of the page; not yet safe inside a script element.
std::string page_data(Page const& page);

/// Indices of the points to draw: at most about 2 × buckets, the largest allocation of every bucket
/// and the last point among them.
std::vector<size_t> thinned_memory(analyzer::MemoryTimeline const& points, size_t buckets);

/// Memory curves of a page; pages of large jobs stay small.
inline constexpr size_t kMaxMemoryCurves = 8;
/// The devices with a curve, by ref; of many those with the highest peaks.
std::vector<analyzer::DeviceStats const*> fullest_devices(analyzer::Analysis const& analysis);

}  // namespace stepscope::reports
