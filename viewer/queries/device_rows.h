// The rows of the analysis' tables that are of one device: they lie beside each other, by ref.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "analyzer/results/device_stats.h"

namespace stepscope::viewer {

/// `rows`: by `ref`.
template <class Fact>
[[nodiscard]] std::span<Fact const> facts_of(std::vector<Fact> const& rows,
                                             analyzer::DeviceRef ref) {
  auto const first = std::partition_point(rows.begin(), rows.end(),
                                          [&](Fact const& row) { return row.ref < ref; });
  auto const last =
      std::partition_point(first, rows.end(), [&](Fact const& row) { return row.ref == ref; });
  return {first, last};
}

}  // namespace stepscope::viewer
