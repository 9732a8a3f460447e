// Algebra of time intervals: half-open [begin, end), sets are sorted and disjoint. Every time in
// Stepscope is a measure of such a set, never a sum of durations (DEFINITIONS, "Time and classes").
#pragma once

#include <cstdint>
#include <vector>

namespace stepscope::model {

struct Interval {
  int64_t begin = 0, end = 0;  ///< begin ≤ end
  [[nodiscard]] int64_t length() const { return end - begin; }
  friend bool operator==(Interval const&, Interval const&) = default;
};

/// Sorted by begin, disjoint, not touching, none empty.
using IntervalSet = std::vector<Interval>;

/// The union of any intervals, in any order, empty ones allowed. O(n log n), O(n) when already
/// sorted by begin.
IntervalSet unite(std::vector<Interval> intervals);
/// a ∪ b, a ∩ b, a ∖ b. O(|a| + |b|).
IntervalSet unite(IntervalSet const& a, IntervalSet const& b);
IntervalSet intersect(IntervalSet const& a, IntervalSet const& b);
IntervalSet subtract(IntervalSet const& a, IntervalSet const& b);
/// What of the set lies in the window.
IntervalSet clip(IntervalSet const& set, Interval window);
/// |set| in ns.
int64_t measure(IntervalSet const& set);

}  // namespace stepscope::model
