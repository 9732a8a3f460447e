#include "analyzer/metrics/memory/memory_curves.h"

#include <algorithm>

namespace stepscope::analyzer {

std::vector<DeviceStats const*> fullest_devices(Analysis const& analysis, size_t most) {
  std::vector<DeviceStats const*> devices;
  for (DeviceStats const& device : analysis.devices)
    if (!device.memory.timeline.empty()) devices.push_back(&device);
  if (devices.size() <= most) return devices;

  std::stable_sort(devices.begin(), devices.end(), [](auto const* a, auto const* b) {
    return a->memory.peak_allocated_bytes.value_or(0) > b->memory.peak_allocated_bytes.value_or(0);
  });
  devices.resize(most);

  std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<size_t> thinned_memory(MemoryTimeline const& points, size_t buckets) {
  std::vector<size_t> kept;
  size_t const stride = std::max<size_t>(1, points.size() / std::max<size_t>(buckets, 1));

  auto point = points.begin();
  for (size_t begin = 0; begin < points.size(); begin += stride) {
    size_t const end = std::min(begin + stride, points.size());

    size_t low = begin, high = begin;
    uint64_t least = point->allocated_bytes, most = least;
    for (size_t i = begin; i < end; ++i, ++point) {
      if (point->allocated_bytes > most) high = i, most = point->allocated_bytes;
      if (point->allocated_bytes < least) low = i, least = point->allocated_bytes;
    }

    kept.push_back(std::min(low, high));
    if (low != high) kept.push_back(std::max(low, high));
  }

  if (!points.empty() && kept.back() != points.size() - 1) kept.push_back(points.size() - 1);
  return kept;
}

}  // namespace stepscope::analyzer
