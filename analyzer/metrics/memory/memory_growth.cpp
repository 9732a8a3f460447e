#include "analyzer/metrics/memory/memory_growth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace stepscope::analyzer {
namespace {

using Point = MemoryStats::Point;

/// Calls visit(window's place, the point before the window or null, its first and last point) for
/// each window.
template <class Visit>
void for_each_window(std::vector<Point> const& timeline, std::vector<Interval> const& windows,
                     Visit const& visit) {
  size_t point = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    while (point < timeline.size() && timeline[point].time_ns <= windows[w].begin) ++point;
    size_t const first = point;
    while (point < timeline.size() && timeline[point].time_ns < windows[w].end) ++point;

    visit(w, first > 0 ? &timeline[first - 1] : nullptr, timeline.data() + first,
          timeline.data() + point);
  }
}

bool reports_reserve(std::vector<Point> const& timeline) {
  return std::any_of(timeline.begin(), timeline.end(),
                     [](Point const& point) { return point.reserved_bytes > 0; });
}

/// The 97.5 % quantile of Student's t by the expansion of Cornish and Fisher: within 1 % from 3
/// degrees of freedom on.
double student_t(size_t degrees) {
  auto const v = static_cast<double>(degrees);
  return 1.960 + 2.372 / v + 2.822 / (v * v) + 2.556 / (v * v * v);
}

/// A cache that fills takes most of its memory in the first steps; what grows evenly has half of
/// its rise in the second half.
constexpr double kLeastLateShare = 0.25;

/// Whether enough of the rise from the first to the last value came after the middle one.
bool grows_to_the_end(StepBytes const& values) {
  std::vector<double> known;
  for (auto const& value : values)
    if (value) known.push_back(static_cast<double>(*value));
  double const rise = known.back() - known.front(), late = known.back() - known[known.size() / 2];
  return rise > 0 && late >= kLeastLateShare * rise;
}

/// More steps than any job has: what is fuller only then is not getting full.
constexpr double kMostSteps = 1e12;

/// Growth by allocations past the cache, which the cache's free memory could not serve. The reserve
/// grows by what is allocated, and falls by as much when it is freed.
class DirectAllocations {
 public:
  /// `place`: of the growth in the list of all.
  void grew(uint64_t bytes, size_t place) { open_[bytes].push_back(place); }
  /// The growth that this gives back; the latest of its size.
  std::optional<size_t> given_back(Point const& before, Point const& after) {
    if (after.reserved_bytes >= before.reserved_bytes ||
        after.allocated_bytes >= before.allocated_bytes)
      return std::nullopt;
    uint64_t const bytes = before.reserved_bytes - after.reserved_bytes;
    auto const found = open_.find(bytes);
    bool const is_all = before.allocated_bytes - after.allocated_bytes == bytes;
    if (!is_all || found == open_.end() || found->second.empty()) return std::nullopt;

    size_t const place = found->second.back();
    found->second.pop_back();
    return place;
  }

 private:
  std::unordered_map<uint64_t, std::vector<size_t>> open_;  ///< places of growths, by their bytes
};

}  // namespace

StepBytes memory_floors(std::vector<Point> const& timeline, std::vector<Interval> const& windows) {
  StepBytes floors(windows.size());
  for_each_window(
      timeline, windows, [&](size_t w, Point const* before, Point const* first, Point const* last) {
        if (before != nullptr) floors[w] = before->allocated_bytes;
        for (; first != last; ++first)
          floors[w] = std::min(floors[w].value_or(first->allocated_bytes), first->allocated_bytes);
      });
  return floors;
}

StepBytes reserved_at_ends(std::vector<Point> const& timeline,
                           std::vector<Interval> const& windows) {
  StepBytes reserved(windows.size());
  if (!reports_reserve(timeline)) return reserved;
  for_each_window(timeline, windows,
                  [&](size_t w, Point const* before, Point const* first, Point const* last) {
                    if (first != last) before = last - 1;
                    if (before != nullptr) reserved[w] = before->reserved_bytes;
                  });
  return reserved;
}

StepBytes highest_footprint(std::vector<Point> const& timeline,
                            std::vector<Interval> const& windows) {
  StepBytes highest(windows.size());
  bool const has_reserve = reports_reserve(timeline);
  auto const footprint = [&](Point const& point) {
    return has_reserve ? point.reserved_bytes : point.allocated_bytes;
  };

  for_each_window(timeline, windows,
                  [&](size_t w, Point const* before, Point const* first, Point const* last) {
                    if (before != nullptr) highest[w] = footprint(*before);
                    for (; first != last; ++first)
                      highest[w] = std::max(highest[w].value_or(0), footprint(*first));
                  });

  return highest;
}

std::optional<Slope> slope_of(StepBytes const& values) {
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]) points.emplace_back(static_cast<double>(i), static_cast<double>(*values[i]));
  if (points.size() < kFewestFloors) return std::nullopt;

  auto const count = static_cast<double>(points.size());
  double mean_x = 0, mean_y = 0;
  for (auto const& [x, y] : points) {
    mean_x += x / count;
    mean_y += y / count;
  }

  double xx = 0, xy = 0;
  for (auto const& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
  }

  double const slope = xy / xx;
  double squares = 0;
  for (auto const& [x, y] : points) {
    double const off = y - mean_y - slope * (x - mean_x);
    squares += off * off;
  }
  return Slope{slope, std::sqrt(squares / (count - 2) / xx), points.size()};
}

std::optional<double> floor_growth(StepBytes const& floors) {
  auto const slope = slope_of(floors);
  return slope ? std::optional(slope->bytes_per_step) : std::nullopt;
}

std::optional<MemoryForecast> forecast_of(StepBytes const& values, double room_bytes,
                                          std::optional<int64_t> step_ns) {
  auto const slope = slope_of(values);
  if (!slope || room_bytes < 0 || !grows_to_the_end(values)) return std::nullopt;
  double const margin = student_t(slope->steps - 2) * slope->standard_error;
  double const least = slope->bytes_per_step - margin;
  if (least <= 0 || room_bytes / least > kMostSteps) return std::nullopt;

  MemoryForecast forecast;
  forecast.bytes_per_step = slope->bytes_per_step;
  forecast.standard_error_bytes = slope->standard_error;
  forecast.steps = room_bytes / slope->bytes_per_step;
  forecast.earliest_steps = room_bytes / (slope->bytes_per_step + margin);
  forecast.latest_steps = room_bytes / least;
  double const time = forecast.steps * static_cast<double>(step_ns.value_or(0));
  if (step_ns && time < static_cast<double>(model::kMaxTime))
    forecast.time_ns = static_cast<int64_t>(time);
  return forecast;
}

std::vector<MemoryStats::Growth> growth_despite_room(std::vector<Point> const& timeline,
                                                     std::vector<Interval> const& windows) {
  std::vector<MemoryStats::Growth> all;
  DirectAllocations direct;

  for (size_t i = 1; i < timeline.size(); ++i) {
    Point const &before = timeline[i - 1], &after = timeline[i];
    if (auto const place = direct.given_back(before, after)) all[*place].bytes = 0;

    bool const grew = after.reserved_bytes > before.reserved_bytes &&
                      after.allocated_bytes > before.allocated_bytes;
    bool const had_room = before.reserved_bytes >= before.allocated_bytes &&
                          before.reserved_bytes - before.allocated_bytes >=
                              after.allocated_bytes - before.allocated_bytes;
    if (!grew || !had_room) continue;

    uint64_t const bytes = after.reserved_bytes - before.reserved_bytes;
    if (bytes == after.allocated_bytes - before.allocated_bytes) direct.grew(bytes, all.size());
    all.push_back({after.time_ns, bytes});
  }

  std::vector<MemoryStats::Growth> result;
  size_t window = 0;
  for (MemoryStats::Growth const& growth : all) {
    while (window < windows.size() && windows[window].end <= growth.time_ns) ++window;
    bool const is_measured =
        windows.empty() || (window < windows.size() && growth.time_ns >= windows[window].begin);
    if (growth.bytes > 0 && is_measured) result.push_back(growth);
  }
  return result;
}

std::optional<double> batch_factor(std::array<uint64_t, 7> const& by_purpose_at_peak,
                                   uint64_t capacity_bytes) {
  using model::MemoryPurpose;
  /// More of unknown purpose, and it decides the result.
  constexpr double kMostUnknown = 0.1;

  auto const bytes = [&](MemoryPurpose purpose) {
    return static_cast<double>(by_purpose_at_peak[static_cast<size_t>(purpose)]);
  };

  double all = 0;
  for (uint64_t const part : by_purpose_at_peak) all += static_cast<double>(part);
  if (bytes(MemoryPurpose::kActivations) == 0 || bytes(MemoryPurpose::kOther) > kMostUnknown * all)
    return std::nullopt;

  double const fixed = bytes(MemoryPurpose::kWeights) + bytes(MemoryPurpose::kGradients) +
                       bytes(MemoryPurpose::kOptimizer);
  double const room = kUsableShare * static_cast<double>(capacity_bytes) - fixed;
  return room > 0 ? std::optional(room / (all - fixed)) : std::nullopt;
}

}  // namespace stepscope::analyzer
