#include "viewer/queries/duration_histogram.h"

#include <algorithm>
#include <cmath>

#include "analyzer/metrics/core/quantile.h"
#include "viewer/event_store/out_of_core/statistics.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

/// Durations of the ops, unsorted.
std::vector<int64_t> durations_of(Scene const& scene, HistogramKey const& key,
                                  std::stop_token const& stop) {
  std::vector<int64_t> durations;
  if (key.ref.rank_index < 0 || static_cast<size_t>(key.ref.rank_index) >= scene.run.ranks.size())
    return durations;
  model::Trace const& trace = scene.trace(static_cast<uint32_t>(key.ref.rank_index));
  std::vector<char> wanted(trace.strings().size());
  for (uint32_t id = 0; id < wanted.size(); ++id)
    wanted[id] = printable_name(trace.text(model::StringId{id})) == key.name ? 1 : 0;
  auto const& columns = trace.columns();
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kStream ||
        trace.tracks()[t].device != key.ref.device)
      continue;
    if (stop.stop_requested()) return {};
    auto const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (wanted[columns.name[row].value] != 0 && model::is_device_op(columns.kind[row]))
        durations.push_back(columns.dur[row]);
  }
  return durations;
}

}  // namespace

DurationHistogram duration_histogram(Scene const& scene, HistogramKey const& key,
                                     std::stop_token const& stop) {
  DurationHistogram result;
  std::vector<int64_t> durations =
      scene.far ? durations_in_files(scene, key, stop) : durations_of(scene, key, stop);
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
