// How benchmarks time work that takes milliseconds and more.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace stepscope::bench {

/// The median of `repeats` runs, in seconds of the wall clock.
inline double median_s(int repeats, std::function<void()> const& work) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<size_t>(repeats / 2)];
}

}  // namespace stepscope::bench
