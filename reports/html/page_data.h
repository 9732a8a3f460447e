// What the page's script draws, as JSON: arrays thinned to what a screen can show. Times are ns
// since the run's first event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/metrics/memory/memory_curves.h"
#include "reports/html/page.h"

namespace stepscope::reports {

/// The whole data set of the page; not yet safe inside a script element.
std::string page_data(Page const& page);

using analyzer::thinned_memory;

/// Memory curves of a page; pages of large jobs stay small.
inline constexpr size_t kMaxMemoryCurves = 8;
inline std::vector<analyzer::DeviceStats const*> fullest_devices(
    analyzer::Analysis const& analysis) {
  return analyzer::fullest_devices(analysis, kMaxMemoryCurves);
}

}  // namespace stepscope::reports
