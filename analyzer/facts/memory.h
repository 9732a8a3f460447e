// Device memory over time from the memory calls of all host threads (DEFINITIONS, "Memory"). A call takes effect at its end.
// Bytes whose purpose was not recorded (allocated before the capture began) count as `other`. Fragmentation is absent: it needs
// the allocator's free blocks, which no source reports yet.
#pragma once

#include "analyzer/facts/run_index.h"

namespace stepscope::analyzer {

/// The memory calls of one process, by device; O(calls log calls).
std::vector<std::pair<int32_t, MemoryFacts>> memory_of_process(model::RankTrace const& rank);

/// The facts of a part of the time: what was there at its begin, and every call that took effect in it.
MemoryFacts memory_within(MemoryFacts const& memory, Interval window);

/// The lowest allocated_bytes within each window (windows disjoint, by time); what is live at its begin counts. None before the
/// first point of the timeline.
std::vector<std::optional<uint64_t>> memory_floors(std::vector<MemoryFacts::Point> const& timeline,
                                                   std::vector<Interval> const& windows);

/// Slope of the floors over their place by least squares, in bytes per step; none with fewer than kFewestFloors.
std::optional<double> floor_growth(std::vector<std::optional<uint64_t>> const& floors);
inline constexpr size_t kFewestFloors = 5;

}  // namespace stepscope::analyzer
