// Which device of the run a number or a place belongs to.
#pragma once

#include <compare>
#include <cstdint>

#include "trace/model/intervals.h"

namespace stepscope::analyzer {

using model::Interval;

/// A device of the run: rank = index into Run::ranks, device = id within the process.
struct DeviceRef {
  int32_t rank_index = 0;
  int32_t device = 0;
  friend auto operator<=>(DeviceRef const&, DeviceRef const&) = default;
};

}  // namespace stepscope::analyzer
