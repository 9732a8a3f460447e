// How full a pixel of a row is, where its events are not in memory.
#pragma once

#include <array>
#include <cstdint>

#include "trace/model/kinds.h"
#include "trace/model/summary/track_summary.h"

namespace stepscope::viewer {

/// A pixel's time on one track, or on several together.
struct DensityColumn {
  std::array<float, model::kOpClassCount>
      busy{};          ///< share of the pixel's time, index = OpClass; of several tracks the sum
  float starts = 0;    ///< events that start in it; a bin that a border cuts is taken as even
  uint16_t depth = 0;  ///< most events open at once in the bins that touch it
  bool known = false;  ///< the track was recorded here: idle where nothing is busy
};

}  // namespace stepscope::viewer
