#include "viewer/queries/duration_histogram.h"

#include <algorithm>
#include <cmath>

#include "analyzer/metrics/core/quantile.h"
#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {

DurationHistogram duration_histogram(Scene const& scene, HistogramKey const& key,
                                     std::stop_token const& stop) {
  DurationHistogram result;
  std::vector<int64_t> durations = scene.store->durations(scene, key, stop);
  if (durations.empty()) return result;

  auto const [low, high] = std::minmax_element(durations.begin(), durations.end());
  result.shortest_ns = *low;
  result.longest_ns = *high;
  result.count = durations.size();
  result.median_ns = analyzer::lower_median(durations);

  // Bins of equal width in the logarithm, whose borders are whole ns: narrow ranges have fewer
  // bins, and so have few calls.
  auto const sensible =
      static_cast<uint32_t>(std::ceil(2 * std::sqrt(static_cast<double>(result.count))));
  uint32_t const count = std::clamp(std::max(sensible, 4U), 1U, std::max(key.bins, 1U));
  double const first = std::log(static_cast<double>(std::max<int64_t>(result.shortest_ns, 1)));
  double const width =
      (std::log(static_cast<double>(std::max<int64_t>(result.longest_ns, 1)) + 1) - first) / count;

  int64_t from = result.shortest_ns;
  for (uint32_t i = 1; from <= result.longest_ns; ++i) {
    int64_t until = result.longest_ns;
    if (i < count) until = std::min(until, static_cast<int64_t>(std::exp(first + width * i)));
    if (until < from) continue;
    result.bins.push_back({from, until, 0, 0});
    from = until + 1;
  }

  for (int64_t const duration : durations) {
    auto const bin = std::partition_point(
        result.bins.begin(), result.bins.end(),
        [&](DurationHistogram::Bin const& b) { return b.until_ns < duration; });
    ++bin->count;
    bin->total_ns = add(bin->total_ns, duration);
  }
  return result;
}

}  // namespace stepscope::viewer
