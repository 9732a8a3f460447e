// Which device of the run a number or a place belongs to.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/model/intervals.h"

namespace stepscope::analyzer {

using model::Interval;

/// A device of the run: rank = index into Run::ranks, device = id within the process.
struct DeviceRef {
  int32_t rank_index = 0;
  int32_t device = 0;
  friend auto operator<=>(DeviceRef const&, DeviceRef const&) = default;
};

/// The rows of one device in a table that is sorted by Row::ref. O(log rows).
template <class Row>
std::span<Row const> rows_of_device(std::vector<Row> const& rows, DeviceRef ref) {
  auto const first =
      std::partition_point(rows.begin(), rows.end(), [&](Row const& row) { return row.ref < ref; });
  auto const last =
      std::partition_point(first, rows.end(), [&](Row const& row) { return row.ref <= ref; });
  return {first, last};
}

}  // namespace stepscope::analyzer
