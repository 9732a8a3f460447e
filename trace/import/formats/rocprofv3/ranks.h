// Which rank of its job each process of a capture is.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "trace/import/formats/rocprofv3/process.h"

namespace stepscope::import::rocm {

/// Describes the processes as rocprofv3's and gives them the ranks that the capture states, or that
/// the file's name states for its only process. The others are < 0: open_run gives them theirs, in
/// the order of the processes that this returns. A note says that this is a guess.
std::vector<Process*> order_by_rank(std::deque<Process>& processes, std::string const& file);

}  // namespace stepscope::import::rocm
