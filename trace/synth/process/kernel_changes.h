// What a fault of the job makes of a kernel of its layers: pieces, a slower one without tensor
// cores, one of few blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/synth/process/job.h"
#include "trace/synth/process/program.h"

namespace stepscope::synth {

/// Multiprocessors of the device on which tuned jobs run.
inline constexpr uint32_t kMultiprocessors = 132;

struct ChangedKernel {
  KernelSpec spec;
  int64_t dur_ns;
};
/// The kernels that the job runs in place of one that usually takes `usual_ns`: itself, where the
/// fault is none of kernels.
std::vector<ChangedKernel> change_kernel(Job const& job, KernelSpec const& spec, int64_t usual_ns);

}  // namespace stepscope::synth
