// Waiting for peers by collective as a table (results/wait_matrix.h), from an analyzed run.
#pragma once

#include <cstdint>
#include <stop_token>

#include "analyzer/results/analysis.h"
#include "analyzer/results/wait_matrix.h"
#include "trace/model/intervals.h"

namespace stepscope::analyzer {

/// Collectives that begin in `range` (run time), in at most so many rows and columns.
struct CollectiveWaitsRange {
  model::Interval range;
  uint32_t most_rows = 1, most_columns = 1;
};

/// O(participants of all collectives). Told to stop, it returns what is there.
CollectiveWaitMatrix collective_wait_matrix(Analysis const& analysis,
                                            CollectiveWaitsRange const& wanted,
                                            std::stop_token const& stop = {});

}  // namespace stepscope::analyzer
