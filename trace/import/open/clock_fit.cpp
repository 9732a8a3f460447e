#include "trace/import/open/clock_fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/base/huge_pages.h"
#include "trace/base/nth_smallest.h"

namespace stepscope::import {
namespace {

using model::ClockDrift;

/// The line is fitted through the medians of this many parts of the time. Outliers then weigh
/// little, and the slopes between all pairs are few enough to compare.
constexpr size_t kMostParts = 32;
/// Fewer parts give an offset but no drift.
constexpr size_t kLeastPartsForDrift = 4;
/// A drift is sure if, over the time with collectives, it adds up to this many standard errors of
/// the slope …
constexpr double kSureErrors = 5;
/// … and to at least this: less changes no conclusion, and clocks of one host do not drift.
constexpr double kLeastDriftNs = 1000;
/// Repeats after the first fit: a clock that was tied through a chain of others then follows all of
/// its collectives.
constexpr int kRefinements = 2;

/// The middle value; the lower of the two where the count is even.
template <class Value>
Value median(std::vector<Value>& values) {
  return base::nth_smallest(std::span(values), (values.size() - 1) / 2);
}

/// The middle value; the midpoint of the two where the count is even, so that no clock of two is
/// preferred.
int64_t middle_of(std::vector<int64_t>& values) {
  size_t const half = values.size() / 2;
  int64_t const upper = base::nth_smallest(std::span(values), half);
  if (values.size() % 2 == 1) return upper;
  return std::midpoint(
      *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half)), upper);
}

/// An instant that one clock recorded as `at` was `at + ahead` in true time.
struct Tie {
  int64_t at = 0, ahead = 0;
};

/// Times within a part, and how much is lacking there.
struct Point {
  double at = 0, ahead = 0;
};

/// Buffers that one thread reuses.
struct FitRoom {
  std::vector<Tie> ties;  ///< by time
  std::vector<double> numbers;
  std::vector<int64_t> times;
};

/// Medians of parts with equally many ties. `from`: the origin of all numbers.
std::vector<Point> medians_of_parts(FitRoom& room, Tie from) {
  std::vector<Tie> const& ties = room.ties;
  size_t const parts = std::min(kMostParts, ties.size());
  std::vector<Point> points;
  for (size_t part = 0; part < parts; ++part) {
    size_t const first = part * ties.size() / parts, last = (part + 1) * ties.size() / parts;

    room.numbers.clear();
    for (size_t i = first; i < last; ++i)
      room.numbers.push_back(static_cast<double>(ties[i].ahead - from.ahead));
    int64_t const middle = ties[first + (last - first - 1) / 2].at;
    points.push_back({static_cast<double>(middle - from.at), median(room.numbers)});
  }
  return points;
}

/// Theil and Sen: the median of the slopes between all pairs.
double slope_of(std::vector<Point> const& points) {
  std::vector<double> slopes;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = i + 1; j < points.size(); ++j)
      if (points[j].at > points[i].at)
        slopes.push_back((points[j].ahead - points[i].ahead) / (points[j].at - points[i].at));
  return slopes.empty() ? 0 : median(slopes);
}

/// Whether the slope is larger than the scatter around it gives by chance.
bool is_sure(double slope, FitRoom& room, Tie from) {
  std::vector<Tie> const& ties = room.ties;
  std::vector<double>& around = room.numbers;
  around.clear();
  for (Tie const& tie : ties)
    around.push_back(static_cast<double>(tie.ahead - from.ahead) -
                     slope * static_cast<double>(tie.at - from.at));
  double const middle = median(around);
  for (double& each : around) each = std::fabs(each - middle);

  // Three quarters of the distances are smaller: about the standard deviation, whatever the last
  // quarter does. The factor allows for small samples.
  auto const count = static_cast<double>(ties.size());
  double const third = base::nth_smallest(std::span(around), around.size() * 3 / 4);
  double const scatter = third * (1 + 4 / count);
  // The standard error of a slope through n points spread evenly over a length of 1.
  double const error = scatter * std::sqrt(12.0 / count);
  double const effect = std::fabs(slope) * static_cast<double>(ties.back().at - ties.front().at);
  return effect >= kLeastDriftNs && effect > kSureErrors * error;
}

/// The correction by the ties in `room`, at least one.
ClockCorrection fit_one(FitRoom& room) {
  std::vector<Tie> const& ties = room.ties;
  Tie const from = ties[ties.size() / 2];
  ClockCorrection result{.drift = {.pivot_ns = from.at}, .is_fitted = true};

  auto const points = medians_of_parts(room, from);
  if (points.size() >= kLeastPartsForDrift) {
    double const slope = slope_of(points);
    if (std::fabs(slope) <= ClockDrift::kMostRate && is_sure(slope, room, from))
      result.drift.rate = slope;
  }

  room.times.clear();
  for (Tie const& tie : ties)
    room.times.push_back(tie.at + tie.ahead - result.drift.corrected(tie.at));
  result.offset_ns = median(room.times);
  return result;
}

/// The ends of a collective that ended on several clocks.
using SharedCollective = std::span<CollectiveEnd const>;

std::vector<SharedCollective> shared_collectives(std::span<CollectiveEnd const> ends) {
  std::vector<SharedCollective> shared;
  for (size_t first = 0; first < ends.size();) {
    size_t last = first;
    bool are_several = false;
    for (; last < ends.size() && ends[last].collective == ends[first].collective; ++last)
      are_several = are_several || ends[last].clock != ends[first].clock;

    if (are_several) shared.push_back(ends.subspan(first, last - first));
    first = last;
  }
  return shared;
}

/// Calls handle(number of the collective, buffer) for all, on all cores.
template <class Handle>
void for_all(std::vector<SharedCollective> const& shared, Handle const& handle) {
  tbb::parallel_for(tbb::blocked_range<size_t>(0, shared.size()),
                    [&](tbb::blocked_range<size_t> const& range) {
                      std::vector<int64_t> room;
                      for (size_t i = range.begin(); i < range.end(); ++i) handle(i, room);
                    });
}

/// When a shared collective ended on one clock.
struct EndOnClock {
  int64_t at = 0;
  uint32_t collective = 0;
};

/// Sorts by time. Processes of a host end collectives in the same order up to some µs, so insertion
/// moves few places.
void sort_by_time(std::vector<EndOnClock>& ends) {
  auto const is_before = [](EndOnClock const& a, EndOnClock const& b) {
    return a.at != b.at ? a.at < b.at : a.collective < b.collective;
  };

  // About as many moves as a sort makes comparisons; then sorting is cheaper.
  size_t moves_left = ends.size() * 16;
  for (size_t i = 1; i < ends.size(); ++i) {
    EndOnClock const moved = ends[i];
    size_t place = i;
    for (; place > 0 && is_before(moved, ends[place - 1]) && moves_left > 0; --place, --moves_left)
      ends[place] = ends[place - 1];
    ends[place] = moved;
    if (moves_left == 0) return std::sort(ends.begin(), ends.end(), is_before);
  }
}

class ClockFitter {
 public:
  ClockFitter(uint32_t clocks, std::span<CollectiveEnd const> ends)
      : clocks_(clocks),
        shared_(shared_collectives(ends)),
        ends_of_clocks_(clocks),
        truths_(shared_.size()) {
    std::vector<size_t> counts(clocks);
    for (SharedCollective const& collective : shared_)
      for (CollectiveEnd const& end : collective) ++counts[end.clock];

    for (uint32_t clock = 0; clock < clocks; ++clock)
      base::reserve_long(ends_of_clocks_[clock], counts[clock]);
    for (uint32_t i = 0; i < shared_.size(); ++i)
      for (CollectiveEnd const& end : shared_[i])
        ends_of_clocks_[end.clock].push_back({end.end_ns, i});
    tbb::parallel_for(uint32_t{0}, clocks,
                      [&](uint32_t clock) { sort_by_time(ends_of_clocks_[clock]); });
  }

  std::vector<ClockCorrection> fit() {
    std::vector<bool> is_reference(clocks_.size());
    uint32_t group = 0;
    for (uint32_t reference = 0; reference < clocks_.size(); ++reference) {
      if (ends_of_clocks_[reference].empty() || clocks_[reference].is_fitted) continue;
      is_reference[reference] = clocks_[reference].is_fitted = true;
      clocks_[reference].group = group;

      // First the neighbours of the reference, then their neighbours.
      while (tie([&](uint32_t clock) { return !clocks_[clock].is_fitted; }, group)) {
      }

      auto const follows = [&](uint32_t clock) {
        return !is_reference[clock] && clocks_[clock].is_fitted && clocks_[clock].group == group;
      };
      for (int i = 0; i < kRefinements; ++i) tie(follows, group);
      ++group;
    }
    return clocks_;
  }

 private:
  static constexpr int64_t kNoTruth = INT64_MIN;

  /// Fits the wanted clocks to the fitted ones, as members of the group. False if no clock was
  /// fitted.
  template <class IsWanted>
  bool tie(IsWanted const& is_wanted, uint32_t group) {
    std::vector<uint32_t> wanted;
    for (uint32_t clock = 0; clock < clocks_.size(); ++clock)
      if (!ends_of_clocks_[clock].empty() && is_wanted(clock)) wanted.push_back(clock);
    if (wanted.empty()) return false;

    for_all(shared_,
            [&](size_t i, std::vector<int64_t>& room) { truths_[i] = true_end(shared_[i], room); });
    std::atomic<bool> any = false;
    tbb::parallel_for(size_t{0}, wanted.size(), [&](size_t i) {
      FitRoom& room = rooms_.local();
      room.ties.clear();
      for (EndOnClock const& end : ends_of_clocks_[wanted[i]])
        if (int64_t const truth = truths_[end.collective]; truth != kNoTruth)
          room.ties.push_back({end.at, truth - end.at});

      if (room.ties.empty()) return;
      clocks_[wanted[i]] = fit_one(room);
      clocks_[wanted[i]].group = group;
      any = true;
    });
    return any;
  }

  /// When a collective ended by the clocks that are fitted already.
  [[nodiscard]] int64_t true_end(SharedCollective const& collective,
                                 std::vector<int64_t>& room) const {
    room.clear();
    for (CollectiveEnd const& end : collective)
      if (clocks_[end.clock].is_fitted) room.push_back(clocks_[end.clock](end.end_ns));
    return room.empty() ? kNoTruth : middle_of(room);
  }

  std::vector<ClockCorrection> clocks_;
  std::vector<SharedCollective> shared_;
  std::vector<std::vector<EndOnClock>> ends_of_clocks_;  ///< by clock
  std::vector<int64_t> truths_;                          ///< by shared collective
  tbb::enumerable_thread_specific<FitRoom> rooms_;
};

}  // namespace

std::vector<ClockCorrection> fit_clocks(uint32_t clocks, std::span<CollectiveEnd const> ends) {
  return ClockFitter(clocks, ends).fit();
}

std::optional<ClockResiduals> residuals(std::span<ClockCorrection const> clocks,
                                        std::span<CollectiveEnd const> ends) {
  std::vector<SharedCollective> const shared = shared_collectives(ends);
  if (shared.empty()) return std::nullopt;

  std::vector<size_t> first(shared.size() + 1);
  for (size_t i = 0; i < shared.size(); ++i) first[i + 1] = first[i] + shared[i].size();
  std::vector<int64_t> all(first.back());
  for_all(shared, [&](size_t i, std::vector<int64_t>& room) {
    std::span<int64_t> const distances = std::span(all).subspan(first[i], shared[i].size());
    for (size_t k = 0; k < distances.size(); ++k)
      distances[k] = clocks[shared[i][k].clock](shared[i][k].end_ns);
    room.assign(distances.begin(), distances.end());
    int64_t const middle = middle_of(room);
    for (int64_t& end : distances) end = std::abs(end - middle);
  });

  int64_t const median_ns = median(all);
  return ClockResiduals{median_ns, base::nth_smallest(std::span(all), (all.size() - 1) * 95 / 100),
                        shared.size()};
}

}  // namespace stepscope::import
