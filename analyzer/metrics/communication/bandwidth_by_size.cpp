#include "analyzer/metrics/communication/bandwidth_by_size.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/metrics/core/quantile.h"

namespace stepscope::analyzer {

std::vector<BandwidthPoint> bandwidth_by_size(Analysis const& analysis) {
  auto const& all = analysis.collectives;
  std::vector<uint32_t> measured;
  for (uint32_t i = 0; i < all.size(); ++i)
    if (all[i].busbw_gbps && all[i].bytes > 0 && all[i].transfer_ns > 0) measured.push_back(i);

  // Groups of equal key lie together, the slowest collective of each first.
  auto const key = [&](uint32_t i) {
    return std::tuple(all[i].op, all[i].communicator, all[i].bytes);
  };
  std::sort(measured.begin(), measured.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(key(a), *all[a].busbw_gbps, a) < std::tuple(key(b), *all[b].busbw_gbps, b);
  });

  std::vector<BandwidthPoint> points;
  for (size_t first = 0, last = 0; first < measured.size(); first = last) {
    while (last < measured.size() && key(measured[last]) == key(measured[first])) ++last;
    CollectiveStats const& slowest = all[measured[first]];
    BandwidthPoint& point = points.emplace_back();
    point.communicator = slowest.communicator;
    point.op = slowest.op;
    point.bytes = slowest.bytes;
    point.count = last - first;
    point.low = *slowest.busbw_gbps;
    point.median = *all[measured[first + (last - first - 1) / 2]].busbw_gbps;
    point.high = *all[measured[last - 1]].busbw_gbps;
    point.bus_factor = measured_bus_factor(slowest);
    point.slowest = measured[first];
  }
  return points;
}

double measured_bus_factor(CollectiveStats const& collective) {
  double const algorithm =
      static_cast<double>(collective.bytes) / static_cast<double>(collective.transfer_ns);
  return algorithm > 0 ? *collective.busbw_gbps / algorithm : 0;
}

double fitted_bandwidth(LinkFit const& fit, double bus_factor, double bytes) {
  double const ns =
      fit.alpha_us * 1e3 + (fit.beta_gbps > 0 ? bytes / fit.beta_gbps : 0);  // GB/s = bytes/ns
  return ns > 0 ? bus_factor * bytes / ns : 0;
}

std::vector<CollectiveGroup> collective_groups(Analysis const& analysis) {
  struct Values {
    std::vector<int64_t> transfers, skews;
    std::vector<double> bandwidths;
    int64_t wait_ns = 0;
    size_t participants = 0;
  };
  std::map<std::tuple<uint64_t, model::CollectiveOp, uint64_t>, Values> by_key;
  for (CollectiveStats const& collective : analysis.collectives) {
    Values& values = by_key[{collective.communicator, collective.op, collective.bytes}];
    values.transfers.push_back(collective.transfer_ns);
    values.skews.push_back(collective.skew_ns);
    if (collective.busbw_gbps) values.bandwidths.push_back(*collective.busbw_gbps);
    for (auto const& participant : collective.participants) values.wait_ns += participant.wait_ns;
    values.participants += collective.participants.size();
  }

  std::vector<CollectiveGroup> groups;
  for (auto& [key, values] : by_key) {
    CollectiveGroup& group = groups.emplace_back();
    std::tie(group.communicator, group.op, group.bytes) = key;
    group.count = values.transfers.size();

    auto const participants = static_cast<double>(std::max<size_t>(values.participants, 1));
    group.participants = participants / static_cast<double>(group.count);
    group.wait_ns = static_cast<double>(values.wait_ns) / participants;
    group.transfer_median_ns = lower_median(values.transfers);
    group.skew_median_ns = lower_median(values.skews);
    if (!values.bandwidths.empty()) group.bandwidth_median = lower_median(values.bandwidths);
  }
  return groups;
}

}  // namespace stepscope::analyzer
