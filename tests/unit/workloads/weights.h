// How far two trainings ended from each other.
#pragma once

#include <cmath>
#include <vector>

namespace stepscope::workloads::testing {

/// |a − b| / |a| over all weights, Euclidean.
inline double relative_difference(std::vector<float> const& a, std::vector<float> const& b) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2.0);
    norm += std::pow(static_cast<double>(a[i]), 2.0);
  }
  return std::sqrt(difference / norm);
}

}  // namespace stepscope::workloads::testing
