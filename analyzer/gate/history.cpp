#include "analyzer/gate/history.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "analyzer/gate/change_points.h"
#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

double mean_of_steps(std::vector<double> const& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

/// Means over the points from `first` to before `last`.
HistoryPoint level_of(std::vector<HistoryPoint> const& points, size_t first, size_t last) {
  HistoryPoint level;
  double const share = 1 / static_cast<double>(last - first);
  for (size_t i = first; i < last; ++i) {
    level.step_ns += points[i].step_ns * share;
    for (size_t p = 0; p < kStepPartCount; ++p) level.parts_ns[p] += points[i].parts_ns[p] * share;
  }
  return level;
}

LevelChange level_change(HistoryPoint const& before, HistoryPoint const& after,
                         SeriesChange const& at) {
  LevelChange change;
  change.at = at.at;
  change.p = at.p;
  change.before_ns = before.step_ns;
  change.after_ns = after.step_ns;

  double const sign = after.step_ns < before.step_ns ? -1 : 1;
  for (size_t p = 0; p < kStepPartCount; ++p) {
    change.parts_ns[p] = after.parts_ns[p] - before.parts_ns[p];
    if (sign * change.parts_ns[p] > sign * change.parts_ns[static_cast<size_t>(change.most)])
      change.most = static_cast<StepPart>(p);
  }

  return change;
}

std::vector<LevelChange> level_changes(std::vector<HistoryPoint> const& points,
                                       std::vector<SeriesChange> const& places) {
  std::vector<LevelChange> changes;
  for (size_t i = 0; i < places.size(); ++i) {
    size_t const first = i == 0 ? 0 : places[i - 1].at;
    size_t const last = i + 1 == places.size() ? points.size() : places[i + 1].at;
    changes.push_back(level_change(level_of(points, first, places[i].at),
                                   level_of(points, places[i].at, last), places[i]));
  }
  return changes;
}

double share_of(LevelChange const& change) {
  return change.before_ns > 0 ? std::abs(change.after_ns - change.before_ns) / change.before_ns : 1;
}

}  // namespace

HistoryPoint history_point(RunMeasurements const& run, std::string label) {
  STEPSCOPE_CHECK(!run.steps.empty() && run.parts_ns.size() == kStepPartCount);
  HistoryPoint point;
  point.label = std::move(label);
  point.step_ns = mean_of_steps(run.step_ns);

  for (size_t p = 0; p < kStepPartCount; ++p) point.parts_ns[p] = mean_of_steps(run.parts_ns[p]);
  point.peak_allocated_bytes = run.peak_allocated_bytes;

  point.device = fmt::format("{} × {}", run.devices,
                             run.device_names.empty() ? "device" : run.device_names.front());
  point.steps = run.steps.size();
  return point;
}

HistoryStats analyze_history(std::vector<HistoryPoint> points, double least_share) {
  HistoryStats facts;
  if (points.size() > kMostSeriesValues) {
    facts.left_out = points.size() - kMostSeriesValues;
    points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(facts.left_out));
  }

  std::vector<double> series;
  for (HistoryPoint const& point : points) series.push_back(point.step_ns);
  std::vector<SeriesChange> places = find_changes(series);
  facts.points = std::move(points);

  // The least first: what is left of a level's neighbours may be a change that counts.
  for (;;) {
    facts.changes = level_changes(facts.points, places);
    auto const least = std::min_element(
        facts.changes.begin(), facts.changes.end(),
        [](LevelChange const& a, LevelChange const& b) { return share_of(a) < share_of(b); });
    if (least == facts.changes.end() || share_of(*least) >= least_share) return facts;
    places.erase(places.begin() + (least - facts.changes.begin()));
  }
}

}  // namespace stepscope::analyzer
