#include "trace/model/intervals.h"

#include <algorithm>
#include <cstddef>

#include "trace/model/exponential_search.h"

namespace stepscope::model {
namespace {

/// Appends keeping the set disjoint and not touching; `next.begin` must not lie before the last
/// interval's begin.
void append(IntervalSet& set, Interval next) {
  if (next.begin >= next.end) return;
  if (!set.empty() && next.begin <= set.back().end) {
    set.back().end = std::max(set.back().end, next.end);
  } else {
    set.push_back(next);
  }
}

}  // namespace

IntervalSet unite(std::vector<Interval> intervals) {
  auto const by_begin = [](Interval const& a, Interval const& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin))
    std::sort(intervals.begin(), intervals.end(), by_begin);
  // What is united lies before what is not yet.
  size_t kept = 0;
  for (Interval const next : intervals) {
    if (next.begin >= next.end) continue;
    if (kept > 0 && next.begin <= intervals[kept - 1].end)
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, next.end);
    else
      intervals[kept++] = next;
  }
  intervals.resize(kept);
  return intervals;
}

IntervalSet unite(IntervalSet const& a, IntervalSet const& b) {
  IntervalSet result;
  result.reserve(a.size() + b.size());
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() || ib != b.end()) {
    bool const take_a = ib == b.end() || (ia != a.end() && ia->begin <= ib->begin);
    append(result, take_a ? *ia++ : *ib++);
  }
  return result;
}

IntervalSet intersect(IntervalSet const& a, IntervalSet const& b) {
  IntervalSet result;
  auto ia = a.begin();
  auto ib = b.begin();
  while (ia != a.end() && ib != b.end()) {
    append(result, {std::max(ia->begin, ib->begin), std::min(ia->end, ib->end)});
    if (ia->end < ib->end) {
      ++ia;
    } else {
      ++ib;
    }
  }
  return result;
}

IntervalSet subtract(IntervalSet const& a, IntervalSet const& b) {
  IntervalSet result;
  size_t near = 0;
  for (Interval rest : a) {
    // Few are often subtracted from, or are what is subtracted: between them whole stretches of the
    // others are leapt over.
    near = exponential_search(
        b.size(), [&](size_t i) { return b[i].end; }, rest.begin, near);
    for (size_t cut = near; cut < b.size() && b[cut].begin < rest.end; ++cut) {
      append(result, {rest.begin, b[cut].begin});
      rest.begin = std::max(rest.begin, b[cut].end);
    }
    append(result, rest);
  }
  return result;
}

IntervalSet clip(IntervalSet const& set, Interval window) {
  auto first = std::partition_point(set.begin(), set.end(),
                                    [&](Interval const& i) { return i.end <= window.begin; });
  IntervalSet result;
  for (; first != set.end() && first->begin < window.end; ++first)
    append(result, {std::max(first->begin, window.begin), std::min(first->end, window.end)});
  return result;
}

int64_t measure(IntervalSet const& set) {
  int64_t total = 0;
  for (Interval const& interval : set) total += interval.length();
  return total;
}

}  // namespace stepscope::model
