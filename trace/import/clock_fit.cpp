#include "trace/import/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace stepscope::import {
namespace {

using model::ClockDrift;

/// What is fitted through: medians of so many parts of the time, so that outliers have little weight and all slopes can be
/// compared.
constexpr size_t kMostParts = 32;
/// Fewer tell an offset, no drift.
constexpr size_t kLeastPartsForDrift = 4;
/// A drift is sure when, over the time in which there are collectives, it is so many standard errors of the slope long …
constexpr double kSureErrors = 5;
/// … and at least this: less changes no conclusion, and clocks of one host have none.
constexpr double kLeastDriftNs = 1000;
/// Once more after the first look: what was tied through a chain of others then follows all of its collectives.
constexpr int kRefinements = 2;

/// The middle one, of an even number the lower of the two.
template <class Value>
Value median(std::vector<Value>& values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of an even number between the two: so of two clocks neither is believed more.
int64_t middle_of(std::vector<int64_t>& values) {
  auto const upper = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  return values.size() % 2 == 1 ? *upper : std::midpoint(*std::max_element(values.begin(), upper), *upper);
}

/// By one clock it was `at`, in truth it was `at + ahead`.
struct Tie {
  int64_t at = 0, ahead = 0;
};

/// Times within a part, and how much is lacking there.
struct Point {
  double at = 0, ahead = 0;
};

/// Medians of parts with as many ties each. `ties`: by time. `from`: what all numbers count from.
std::vector<Point> medians_of_parts(std::vector<Tie> const& ties, Tie from) {
  size_t const parts = std::min(kMostParts, ties.size());
  std::vector<Point> points;
  for (size_t part = 0; part < parts; ++part) {
    std::vector<double> at, ahead;
    for (size_t i = part * ties.size() / parts; i < (part + 1) * ties.size() / parts; ++i) {
      at.push_back(static_cast<double>(ties[i].at - from.at));
      ahead.push_back(static_cast<double>(ties[i].ahead - from.ahead));
    }
    points.push_back({median(at), median(ahead)});
  }
  return points;
}

/// Theil and Sen: the median of the slopes between all pairs.
double slope_of(std::vector<Point> const& points) {
  std::vector<double> slopes;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = i + 1; j < points.size(); ++j)
      if (points[j].at > points[i].at) slopes.push_back((points[j].ahead - points[i].ahead) / (points[j].at - points[i].at));
  return slopes.empty() ? 0 : median(slopes);
}

/// Whether the slope is more than chance makes of the scatter around it.
bool is_sure(double slope, std::vector<Tie> const& ties, Tie from) {
  auto const lacking = [&](Tie const& tie) {
    return static_cast<double>(tie.ahead - from.ahead) - slope * static_cast<double>(tie.at - from.at);
  };
  std::vector<double> around;
  for (Tie const& tie : ties) around.push_back(lacking(tie));
  double const middle = median(around);
  for (double& each : around) each = std::fabs(each - middle);
  // Three quarters lie nearer: about the standard deviation, whatever the last quarter does. Of few it is known less well.
  auto const count = static_cast<double>(ties.size());
  auto const third = around.begin() + static_cast<ptrdiff_t>(around.size() * 3 / 4);
  std::nth_element(around.begin(), third, around.end());
  double const scatter = *third * (1 + 4 / count);
  // Of a slope through n points that are spread evenly over a length of 1.
  double const error = scatter * std::sqrt(12.0 / count);
  double const effect = std::fabs(slope) * static_cast<double>(ties.back().at - ties.front().at);
  return effect >= kLeastDriftNs && effect > kSureErrors * error;
}

ClockCorrection fit_one(std::vector<Tie>& ties) {
  auto const by_time = [](Tie const& a, Tie const& b) { return a.at < b.at; };
  if (!std::is_sorted(ties.begin(), ties.end(), by_time)) std::sort(ties.begin(), ties.end(), by_time);
  Tie const from = ties[ties.size() / 2];
  ClockCorrection result{.drift = {.pivot_ns = from.at}, .is_fitted = true};
  auto const points = medians_of_parts(ties, from);
  if (points.size() >= kLeastPartsForDrift) {
    double const slope = slope_of(points);
    if (std::fabs(slope) <= ClockDrift::kMostRate && is_sure(slope, ties, from)) result.drift.rate = slope;
  }
  std::vector<int64_t> offsets;
  for (Tie const& tie : ties) offsets.push_back(tie.at + tie.ahead - result.drift.corrected(tie.at));
  result.offset_ns = median(offsets);
  return result;
}

/// Calls handle(first, last) for the ends of each collective.
template <class Handle>
void for_each_collective(std::span<CollectiveEnd const> ends, Handle&& handle) {
  for (size_t first = 0; first < ends.size();) {
    size_t last = first;
    while (last < ends.size() && ends[last].collective == ends[first].collective) ++last;
    handle(ends.subspan(first, last - first));
    first = last;
  }
}

bool are_of_several_clocks(std::span<CollectiveEnd const> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](CollectiveEnd const& end) { return end.clock != ends.front().clock; });
}

/// Where the fitted clocks say that a collective ended; nothing without one.
std::optional<int64_t> true_end(std::span<CollectiveEnd const> ends, std::span<ClockCorrection const> clocks,
                                std::vector<int64_t>& room) {
  room.clear();
  for (CollectiveEnd const& end : ends)
    if (clocks[end.clock].is_fitted) room.push_back(clocks[end.clock](end.end_ns));
  if (room.empty()) return std::nullopt;
  return middle_of(room);
}

class ClockFitter {
 public:
  ClockFitter(uint32_t clocks, std::span<CollectiveEnd const> ends) : clocks_(clocks), ties_(clocks) {
    for_each_collective(ends, [&](std::span<CollectiveEnd const> collective) {
      if (are_of_several_clocks(collective)) ends_.insert(ends_.end(), collective.begin(), collective.end());
    });
  }

  std::vector<ClockCorrection> fit() {
    std::vector<bool> has_ends(clocks_.size()), is_reference(clocks_.size());
    for (CollectiveEnd const& end : ends_) has_ends[end.clock] = true;
    uint32_t group = 0;
    for (uint32_t reference = 0; reference < clocks_.size(); ++reference) {
      if (!has_ends[reference] || clocks_[reference].is_fitted) continue;
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
  /// Fits the clocks that are wanted to those that are fitted, as members of the group; false when there was none.
  template <class IsWanted>
  bool tie(IsWanted&& is_wanted, uint32_t group) {
    for (auto& ties : ties_) ties.clear();
    for_each_collective(ends_, [&](std::span<CollectiveEnd const> collective) {
      auto const truth = true_end(collective, clocks_, room_);
      if (!truth) return;
      for (CollectiveEnd const& end : collective)
        if (is_wanted(end.clock)) ties_[end.clock].push_back({end.end_ns, *truth - end.end_ns});
    });
    bool any = false;
    for (uint32_t clock = 0; clock < clocks_.size(); ++clock) {
      if (ties_[clock].empty()) continue;
      clocks_[clock] = fit_one(ties_[clock]);
      clocks_[clock].group = group;
      any = true;
    }
    return any;
  }

  std::vector<ClockCorrection> clocks_;
  std::vector<CollectiveEnd> ends_;  ///< of collectives of several clocks
  std::vector<std::vector<Tie>> ties_;
  std::vector<int64_t> room_;
};

}  // namespace

std::vector<ClockCorrection> fit_clocks(uint32_t clocks, std::span<CollectiveEnd const> ends) {
  return ClockFitter(clocks, ends).fit();
}

std::optional<ClockResiduals> residuals(std::span<ClockCorrection const> clocks, std::span<CollectiveEnd const> ends) {
  ClockResiduals result;
  std::vector<int64_t> all, room;
  for_each_collective(ends, [&](std::span<CollectiveEnd const> collective) {
    if (!are_of_several_clocks(collective)) return;
    room.clear();
    for (CollectiveEnd const& end : collective) room.push_back(clocks[end.clock](end.end_ns));
    int64_t const middle = middle_of(room);
    for (int64_t const end : room) all.push_back(std::abs(end - middle));
    ++result.collectives;
  });
  if (all.empty()) return std::nullopt;
  result.median_ns = median(all);
  auto const p95 = all.begin() + static_cast<ptrdiff_t>((all.size() - 1) * 95 / 100);
  std::nth_element(all.begin(), p95, all.end());
  result.p95_ns = *p95;
  return result;
}

}  // namespace stepscope::import
