// What InMemoryStore answers with more than a few lines of work.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

SearchHits search_in_memory(Scene const& scene, Query const& query, std::stop_token const& stop);
/// O(segments and device ops in the range).
RangeStatistics statistics_in_memory(Scene const& scene, TimeWindow range,
                                     std::stop_token const& stop);
/// O(device ops of the device).
std::vector<int64_t> durations_in_memory(Scene const& scene, HistogramKey const& key,
                                         std::stop_token const& stop);
/// As long as the analyzer takes for its critical path. Empty without one, and when told to stop.
PathLine path_in_memory(Scene const& scene, std::stop_token const& stop);
std::vector<CounterPixel> counter_pixels_in_memory(Curve const& curve, TimeWindow window,
                                                   size_t count, int64_t length);
/// O(width · log segments).
std::vector<StripPiece> device_strip_in_memory(Segments const& segments, TimeWindow window,
                                               float width);

}  // namespace stepscope::viewer
