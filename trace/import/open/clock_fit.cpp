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

/// What is fitted through: medians of so many parts of the time, so that outliers have little
/// weight and all slopes can be compared.
constexpr size_t kMostParts = 32;
/// Fewer tell an offset, no drift.
constexpr size_t kLeastPartsForDrift = 4;
/// A drift is sure when, over the time in which there are collectives, it is so many standard
/// errors of the slope long …
constexpr double kSureErrors = 5;
/// … and at least this: less changes no conclusion, and clocks of one host have none.
constexpr double kLeastDriftNs = 1000;
/// Once more after the first look: what was tied through a chain of others then follows all of its
/// collectives.
constexpr int kRefinements = 2;

/// The middle one, of an even number the lower of the two.
template <class Value>
Value median(std::vector<Value>& values) {
  return base::nth_smallest(std::span(values), (values.size() - 1) / 2);
}

/// Of an even number between the two: so of two clocks neither is believed more.
int64_t middle_of(std::vector<int64_t>& values) {
  size_t const half = values.size() / 2;
  int64_t const upper = base::nth_smallest(std::span(values), half);
  if (values.size() % 2 == 1) return upper;
  return std::midpoint(
      *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(half)), upper);
}

/// By one clock it was `at`, in truth it was `at + ahead`.
struct Tie {
  int64_t at = 0, ahead = 0;
};

/// Times within a part, and how much is lacking there.
struct Point {
  double at = 0, ahead = 0;
};

/// Memory of a thread that is used again and again.
struct FitRoom {
  std::vector<Tie> ties;  ///< by time
  std::vector<double> numbers;
  std::vector<int64_t> times;
};

/// Medians of parts with as many ties each. `from`: what all numbers count from.
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

/// Whether the slope is more than chance makes of the scatter around it.
bool is_sure(double slope, FitRoom& room, Tie from) {
  std::vector<Tie> const& ties = room.ties;
  std::vector<double>& around = room.numbers;
  around.clear();
  for (Tie const& tie : ties)
    around.push_back(static_cast<double>(tie.ahead - from.ahead) -
                     slope * static_cast<double>(tie.at - from.at));
  double const middle = median(around);
  for (double& each : around) each = std::fabs(each - middle);
  // Three quarters lie nearer: about the standard deviation, whatever the last quarter does. Of few
  // it is known less well.
  auto const count = static_cast<double>(ties.size());
  double const third = base::nth_smallest(std::span(around), around.size() * 3 / 4);
  double const scatter = third * (1 + 4 / count);
  // Of a slope through n points that are spread evenly over a length of 1.
  double const error = scatter * std::sqrt(12.0 / count);
  double const effect = std::fabs(slope) * static_cast<double>(ties.back().at - ties.front().at);
  return effect >= kLeastDriftNs && effect > kSureErrors * error;
}

/// By the ties of the room, of which there is one at least.
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

/// A collective that ended on several clocks.
using Meeting = std::span<CollectiveEnd const>;

std::vector<Meeting> meetings_of(std::span<CollectiveEnd const> ends) {
  std::vector<Meeting> meetings;
  for (size_t first = 0; first < ends.size();) {
    size_t last = first;
    bool are_several = false;
    for (; last < ends.size() && ends[last].collective == ends[first].collective; ++last)
      are_several = are_several || ends[last].clock != ends[first].clock;
    if (are_several) meetings.push_back(ends.subspan(first, last - first));
    first = last;
  }
  return meetings;
}

/// Calls handle(number of the meeting, room) for all, on all cores.
template <class Handle>
void for_all(std::vector<Meeting> const& meetings, Handle const& handle) {
  tbb::parallel_for(tbb::blocked_range<size_t>(0, meetings.size()),
                    [&](tbb::blocked_range<size_t> const& range) {
                      std::vector<int64_t> room;
                      for (size_t i = range.begin(); i < range.end(); ++i) handle(i, room);
                    });
}

/// When a clock took part in which meeting.
struct Attendance {
  int64_t at = 0;
  uint32_t meeting = 0;
};

/// By time. The processes of a host take part in the same order, but for the µs between them: few
/// places are exchanged.
void sort_by_time(std::vector<Attendance>& attended) {
  auto const is_before = [](Attendance const& a, Attendance const& b) {
    return a.at != b.at ? a.at < b.at : a.meeting < b.meeting;
  };
  // As many as a sort would compare.
  size_t moves_left = attended.size() * 16;
  for (size_t i = 1; i < attended.size(); ++i) {
    Attendance const moved = attended[i];
    size_t place = i;
    for (; place > 0 && is_before(moved, attended[place - 1]) && moves_left > 0;
         --place, --moves_left)
      attended[place] = attended[place - 1];
    attended[place] = moved;
    if (moves_left == 0) return std::sort(attended.begin(), attended.end(), is_before);
  }
}

class ClockFitter {
 public:
  ClockFitter(uint32_t clocks, std::span<CollectiveEnd const> ends)
      : clocks_(clocks),
        meetings_(meetings_of(ends)),
        attended_(clocks),
        truths_(meetings_.size()) {
    std::vector<size_t> counts(clocks);
    for (Meeting const& meeting : meetings_)
      for (CollectiveEnd const& end : meeting) ++counts[end.clock];
    for (uint32_t clock = 0; clock < clocks; ++clock)
      base::reserve_long(attended_[clock], counts[clock]);
    for (uint32_t i = 0; i < meetings_.size(); ++i)
      for (CollectiveEnd const& end : meetings_[i]) attended_[end.clock].push_back({end.end_ns, i});
    tbb::parallel_for(uint32_t{0}, clocks, [&](uint32_t clock) { sort_by_time(attended_[clock]); });
  }

  std::vector<ClockCorrection> fit() {
    std::vector<bool> is_reference(clocks_.size());
    uint32_t group = 0;
    for (uint32_t reference = 0; reference < clocks_.size(); ++reference) {
      if (attended_[reference].empty() || clocks_[reference].is_fitted) continue;
      is_reference[reference] = clocks_[reference].is_fitted = true;
      clocks_[reference].group = group;
      // First the neighbours of the reference, then theirs.
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

  /// Fits the clocks that are wanted to those that are fitted, as members of the group; false when
  /// there was none.
  template <class IsWanted>
  bool tie(IsWanted const& is_wanted, uint32_t group) {
    std::vector<uint32_t> wanted;
    for (uint32_t clock = 0; clock < clocks_.size(); ++clock)
      if (!attended_[clock].empty() && is_wanted(clock)) wanted.push_back(clock);
    if (wanted.empty()) return false;
    for_all(meetings_, [&](size_t i, std::vector<int64_t>& room) {
      truths_[i] = true_end(meetings_[i], room);
    });
    std::atomic<bool> any = false;
    tbb::parallel_for(size_t{0}, wanted.size(), [&](size_t i) {
      FitRoom& room = rooms_.local();
      room.ties.clear();
      for (Attendance const& attended : attended_[wanted[i]])
        if (int64_t const truth = truths_[attended.meeting]; truth != kNoTruth)
          room.ties.push_back({attended.at, truth - attended.at});
      if (room.ties.empty()) return;
      clocks_[wanted[i]] = fit_one(room);
      clocks_[wanted[i]].group = group;
      any = true;
    });
    return any;
  }

  /// Where the fitted clocks say that a collective ended.
  [[nodiscard]] int64_t true_end(Meeting const& meeting, std::vector<int64_t>& room) const {
    room.clear();
    for (CollectiveEnd const& end : meeting)
      if (clocks_[end.clock].is_fitted) room.push_back(clocks_[end.clock](end.end_ns));
    return room.empty() ? kNoTruth : middle_of(room);
  }

  std::vector<ClockCorrection> clocks_;
  std::vector<Meeting> meetings_;
  std::vector<std::vector<Attendance>> attended_;  ///< by clock
  std::vector<int64_t> truths_;                    ///< by meeting
  tbb::enumerable_thread_specific<FitRoom> rooms_;
};

}  // namespace

std::vector<ClockCorrection> fit_clocks(uint32_t clocks, std::span<CollectiveEnd const> ends) {
  return ClockFitter(clocks, ends).fit();
}

std::optional<ClockResiduals> residuals(std::span<ClockCorrection const> clocks,
                                        std::span<CollectiveEnd const> ends) {
  std::vector<Meeting> const meetings = meetings_of(ends);
  if (meetings.empty()) return std::nullopt;
  std::vector<size_t> first(meetings.size() + 1);
  for (size_t i = 0; i < meetings.size(); ++i) first[i + 1] = first[i] + meetings[i].size();
  std::vector<int64_t> all(first.back());
  for_all(meetings, [&](size_t i, std::vector<int64_t>& room) {
    std::span<int64_t> const distances = std::span(all).subspan(first[i], meetings[i].size());
    for (size_t k = 0; k < distances.size(); ++k)
      distances[k] = clocks[meetings[i][k].clock](meetings[i][k].end_ns);
    room.assign(distances.begin(), distances.end());
    int64_t const middle = middle_of(room);
    for (int64_t& end : distances) end = std::abs(end - middle);
  });
  int64_t const median_ns = median(all);
  return ClockResiduals{median_ns, base::nth_smallest(std::span(all), (all.size() - 1) * 95 / 100),
                        meetings.size()};
}

}  // namespace stepscope::import
