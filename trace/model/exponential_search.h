// Where an instant lies among parts that come by time: asked again and again, mostly near where it
// was before.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stepscope::model {

/// The place of the first of disjoint parts, by time, that ends after the instant. It is looked for
/// from `near` on: windows mostly come by time. `end_of` a place.
template <class EndOf>
size_t exponential_search(size_t count, EndOf const& end_of, int64_t instant, size_t near) {
  near = std::min(near, count);
  size_t first = 0, last = near;  // it lies in [first, last]
  if (near == 0 || end_of(near - 1) <= instant) {
    size_t step = 1;
    for (first = near; first + step <= count && end_of(first + step - 1) <= instant; step *= 2)
      first += step;
    last = std::min(first + step, count);
  }
  while (first < last) {
    size_t const middle = first + (last - first) / 2;
    if (end_of(middle) <= instant)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

}  // namespace stepscope::model
