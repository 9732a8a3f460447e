// Who waited for whom in the collectives of a window: the analysis' matrix, for view time.
#pragma once

#include <cstdint>
#include <stop_token>

#include "analyzer/results/wait_matrix.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

using WaitMatrix = analyzer::CollectiveWaitMatrix;

/// What is asked for: collectives that begin in `range`, in at most so many rows and columns.
struct WaitMatrixKey {
  TimeWindow range;
  uint32_t most_rows = 1, most_columns = 1;
  friend bool operator==(WaitMatrixKey const&, WaitMatrixKey const&) = default;
};

/// O(participants of all collectives). Told to stop, it returns what is there.
WaitMatrix wait_matrix(Scene const& scene, WaitMatrixKey const& key,
                       std::stop_token const& stop = {});

}  // namespace stepscope::viewer
