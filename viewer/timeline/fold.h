// Walks sorted, disjoint intervals so that the cost is bounded by the pixels: what is a pixel wide or more is visited alone, the
// rest pixel by pixel, found by galloping. After the idea of Tracy's timeline (skip to the next pixel), with an exact count.
#pragma once

#include <cmath>
#include <cstdint>

namespace stepscope::viewer {

/// Index of the first element in [first, count) for which `pred` no longer holds; pred holds for a prefix. Looks near `first`
/// first: O(log distance).
template <class Pred>
uint32_t gallop(uint32_t first, uint32_t count, Pred pred) {
  uint32_t step = 1;
  uint32_t low = first;
  uint32_t high = first;
  while (high < count && pred(high)) {
    low = high + 1;
    high = count - high > step ? high + step : count;
    step *= 2;
  }
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    if (pred(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// `begin(i)` and `end(i)`: view times, both sorted. Visits every element of the window [window_begin, window_end) exactly once:
/// `visit(first, last, x0, x1)`, where [first, last) is one element at least a pixel wide, or all that begin in one pixel column.
/// x0 never decreases.
template <class Begin, class End, class Visit>
void fold(uint32_t count, double window_begin, double window_end, double width, Begin begin, End end, Visit visit) {
  double const scale = width / (window_end - window_begin);
  auto const x = [&](int64_t time) { return (static_cast<double>(time) - window_begin) * scale; };
  // An element of no length belongs to the window when it starts in it.
  uint32_t i = gallop(0, count, [&](uint32_t k) {
    return static_cast<double>(end(k)) <= window_begin && static_cast<double>(begin(k)) < window_begin;
  });
  while (i < count && static_cast<double>(begin(i)) < window_end) {
    double const x0 = x(begin(i));
    double const x1 = x(end(i));
    if (x1 - x0 >= 1) {
      visit(i, i + 1, x0, x1);
      ++i;
      continue;
    }
    double const column = std::floor(x0);
    double const column_end = window_begin + (column + 1) / scale;
    uint32_t last = gallop(i + 1, count, [&](uint32_t k) {
      return static_cast<double>(begin(k)) < column_end && static_cast<double>(begin(k)) < window_end;
    });
    // Only the last of a column can be wide, because they are disjoint.
    if (last - i > 1 && x(end(last - 1)) - x(begin(last - 1)) >= 1) --last;
    visit(i, last, column, column + 1);
    i = last;
  }
}

}  // namespace stepscope::viewer
