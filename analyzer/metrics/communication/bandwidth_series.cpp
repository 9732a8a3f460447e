#include "analyzer/metrics/communication/bandwidth_series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/metrics/communication/bandwidth_by_size.h"

namespace stepscope::analyzer {
namespace {

/// Stretches of a fitted line, of equal ratios of sizes.
constexpr int kFitStretches = 40;

struct MeasuredSeries {
  std::vector<BandwidthSeries::Point> points;
  double bus_factor = 0;
};

std::vector<BandwidthSeries::Point> fitted_line(LinkFit const& link, double bus_factor,
                                                double smallest, double largest) {
  std::vector<BandwidthSeries::Point> line;
  if (!(link.beta_gbps > 0) || !std::isfinite(link.alpha_us) || !(smallest > 0) ||
      !(bus_factor > 0))
    return line;

  for (int i = 0; i <= kFitStretches; ++i) {
    double const bytes =
        smallest * std::pow(largest / smallest, static_cast<double>(i) / kFitStretches);
    double const fitted = fitted_bandwidth(link, bus_factor, bytes);
    if (fitted > 0) line.push_back({bytes, fitted});
  }
  return line;
}

}  // namespace

std::vector<BandwidthSeries> bandwidth_series(Analysis const& analysis, size_t most) {
  std::map<std::pair<uint64_t, model::CollectiveOp>, MeasuredSeries> by_key;
  for (CollectiveStats const& collective : analysis.collectives) {
    if (!collective.busbw_gbps || !std::isfinite(*collective.busbw_gbps) || collective.bytes == 0 ||
        collective.transfer_ns <= 0)
      continue;
    MeasuredSeries& measured = by_key[{collective.communicator, collective.op}];
    measured.points.push_back({static_cast<double>(collective.bytes), *collective.busbw_gbps});
    if (measured.bus_factor <= 0)
      measured.bus_factor = model::bus_factor(collective.op, collective.expected_participants);
  }

  std::vector<BandwidthSeries> result;
  for (auto const& [key, measured] : by_key) {
    BandwidthSeries& series = result.emplace_back();
    std::tie(series.communicator, series.op) = key;

    size_t const stride = std::max<size_t>(1, measured.points.size() / most);
    double smallest = measured.points[0].bytes, largest = smallest;
    for (size_t i = 0; i < measured.points.size(); ++i) {
      if (i % stride == 0) series.points.push_back(measured.points[i]);
      smallest = std::min(smallest, measured.points[i].bytes);
      largest = std::max(largest, measured.points[i].bytes);
    }

    for (LinkFit const& link : analysis.links)
      if (link.communicator == series.communicator && link.op == series.op && largest > smallest)
        series.fit = fitted_line(link, measured.bus_factor, smallest, largest);
  }

  return result;
}

}  // namespace stepscope::analyzer
