// Programs that measure single operations: what is a loss in a training is what they are for.
#pragma once

#include <string_view>

#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Whether a process of the run is a benchmark by its command line: nccl-tests and rccl-tests
/// (`all_reduce_perf`, …), and the bundled `allreduce` and `matpow`.
bool is_benchmark(model::Run const& run);

/// Whether a rule speaks of benchmarks, too: of the machine and of the recording. All others judge
/// how a step could be shorter.
bool speaks_of_benchmarks(std::string_view rule);

}  // namespace stepscope::analyzer
