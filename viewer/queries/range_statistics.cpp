#include "viewer/queries/range_statistics.h"

#include <algorithm>
#include <cmath>

#include "viewer/event_store/event_store.h"
#include "viewer/queries/host_activity.h"

namespace stepscope::viewer {
namespace {

/// Ops by their total, the largest kMaxOps of them.
void keep_largest(std::vector<RangeStatistics::Op>& ops) {
  std::sort(ops.begin(), ops.end(), [](auto const& a, auto const& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  if (ops.size() > kMaxOps) ops.resize(kMaxOps);
}

}  // namespace

RangeStatistics range_statistics(Scene const& scene, TimeWindow range,
                                 std::stop_token const& stop) {
  RangeStatistics result = scene.store->statistics(scene, range, stop);

  if (result.devices.empty()) {
    auto const length = static_cast<double>(scene.length);
    auto const begin = static_cast<int64_t>(std::clamp(std::round(range.begin), 0.0, length));
    auto const end = static_cast<int64_t>(std::clamp(std::round(range.end), 0.0, length));
    add_host_statistics(scene, begin, end, result, stop);
  }

  keep_largest(result.ops);
  return result;
}

}  // namespace stepscope::viewer
