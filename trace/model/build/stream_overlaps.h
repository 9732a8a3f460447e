// Ops of one stream run one after the other. An overlap is a fault of the trace unless the program
// allowed it.
#pragma once

#include <cstdint>

#include "trace/model/trace.h"

namespace stepscope::model {

/// Device ops that overlap an earlier one on their track and may not. Three kinds may:
/// - Ops of one launch: branches of a CUDA graph share the stream on which it is launched.
/// - Kernels whose launch can let them begin early: cudaLaunchKernelEx.
/// - Copies between host buffers: the host makes them.
/// `trace` needs its links and the numbers of its details.
uint64_t count_faulty_overlaps(Trace const& trace);

}  // namespace stepscope::model
