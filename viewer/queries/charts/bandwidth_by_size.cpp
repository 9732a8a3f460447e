#include "viewer/queries/charts/bandwidth_by_size.h"

#include <algorithm>
#include <tuple>

namespace stepscope::viewer {

std::vector<BandwidthPoint> bandwidth_by_size(analyzer::Analysis const& analysis) {
  auto const& all = analysis.collectives;
  std::vector<uint32_t> measured;
  for (uint32_t i = 0; i < all.size(); ++i)
    if (all[i].busbw_gbps && all[i].bytes > 0 && all[i].transfer_ns > 0) measured.push_back(i);
  auto const key = [&](uint32_t i) { return std::tuple(all[i].op, all[i].communicator, all[i].bytes); };
  std::sort(measured.begin(), measured.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(key(a), *all[a].busbw_gbps, a) < std::tuple(key(b), *all[b].busbw_gbps, b);
  });
  std::vector<BandwidthPoint> points;
  for (size_t first = 0, last = 0; first < measured.size(); first = last) {
    while (last < measured.size() && key(measured[last]) == key(measured[first])) ++last;
    auto const& slowest = all[measured[first]];
    BandwidthPoint point;
    point.communicator = slowest.communicator;
    point.op = slowest.op;
    point.bytes = slowest.bytes;
    point.count = last - first;
    point.low = *slowest.busbw_gbps;
    point.median = *all[measured[first + (last - first - 1) / 2]].busbw_gbps;
    point.high = *all[measured[last - 1]].busbw_gbps;
    point.bus_factor = model::bus_factor(slowest.op, slowest.expected_participants);
    point.slowest = measured[first];
    points.push_back(point);
  }
  return points;
}

double fitted_bandwidth(analyzer::LinkFit const& fit, double bus_factor, double bytes) {
  double const ns = fit.alpha_us * 1e3 + (fit.beta_gbps > 0 ? bytes / fit.beta_gbps : 0);
  return ns > 0 ? bus_factor * bytes / ns : 0;
}

}  // namespace stepscope::viewer
