// Walks sorted, disjoint intervals at a cost that is bounded by the pixels. An interval a pixel
// wide or more is visited alone, the rest pixel by pixel, found by galloping. After the idea of
// Tracy's timeline (skip to the next pixel), with an exact count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stepscope::viewer {

/// Index of the first element in [first, count) for which `pred` no longer holds; pred holds for a
/// prefix. Looks near `first` first: O(log distance).
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

/// The begins of every kBlock-th of sorted elements. A search looks at these first: they are few
/// and adjacent, whereas each look at an element itself costs a wait for memory.
class BeginIndex {
 public:
  static constexpr uint32_t kBlock = 64;

  /// Adds the begin of the next element.
  void add(int64_t begin) {
    if (count_++ % kBlock == 0) begins_.push_back(begin);
  }
  /// A place ≥ `first`, at most kBlock before the first element that does not begin before `time`;
  /// the elements from `first` up to it do. `shift`: added to all begins.
  [[nodiscard]] uint32_t before(uint32_t first, double time, int64_t shift = 0) const {
    auto const blocks = static_cast<uint32_t>(begins_.size());
    uint32_t const after = gallop(first / kBlock + 1, blocks, [&](uint32_t block) {
      return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(begins_[block]) +
                                                      static_cast<uint64_t>(shift))) < time;
    });
    uint32_t const at = (after - 1) * kBlock;
    return at > first ? at : first;
  }

 private:
  std::vector<int64_t> begins_;
  uint32_t count_ = 0;
};

/// `begin(i)` and `end(i)`: view times, both sorted. `before(first, time)`: as
/// BeginIndex::before(). Visits every element of the window [window_begin, window_end) exactly once
/// by `visit(first, last, x0, x1)`. There [first, last) is one element at least a pixel wide, or
/// all that begin in one pixel column. x0 never decreases.
template <class Begin, class End, class Before, class Visit>
void fold(uint32_t count, double window_begin, double window_end, double width, Begin begin,
          End end, Before before, Visit visit) {
  double const scale = width / (window_end - window_begin);
  auto const x = [&](int64_t time) { return (static_cast<double>(time) - window_begin) * scale; };

  // An element of no length belongs to the window when it starts in it.
  uint32_t i = gallop(0, count, [&](uint32_t k) {
    return static_cast<double>(end(k)) <= window_begin &&
           static_cast<double>(begin(k)) < window_begin;
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
    double const column_end = std::min(window_begin + (column + 1) / scale, window_end);
    uint32_t const near = i + 1 < count ? before(i + 1, column_end) : count;
    uint32_t last =
        gallop(near, count, [&](uint32_t k) { return static_cast<double>(begin(k)) < column_end; });

    // Only the last of a column can be wide, because they are disjoint.
    if (last - i > 1 && x(end(last - 1)) - x(begin(last - 1)) >= 1) --last;
    visit(i, last, column, column + 1);
    i = last;
  }
}

/// The same without an index of the begins.
template <class Begin, class End, class Visit>
void fold(uint32_t count, double window_begin, double window_end, double width, Begin begin,
          End end, Visit visit) {
  fold(
      count, window_begin, window_end, width, begin, end,
      [](uint32_t first, double) { return first; }, visit);
}

}  // namespace stepscope::viewer
