// The steps of a rank as lines on the timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Steps that begin in a window, in order.
struct RankSteps {
  struct Step {
    int64_t begin = 0;  ///< view time
    int64_t number = 0;
  };
  std::vector<Step> steps;
  int64_t mean_ns = 1;  ///< between the begins of all steps of the rank
};

/// The steps of the rank's first device, without a device those of its first thread, from the
/// analysis.
RankSteps analyzed_steps(Scene const& scene, uint32_t rank, TimeWindow window);

}  // namespace stepscope::viewer
