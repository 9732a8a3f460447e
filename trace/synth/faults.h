// What goes wrong in which step: the same faults in every cycle of steps, each alone in its step, so that any kCycle steps of a
// run hold all of them and a shorter run is the beginning of a longer one.
#pragma once

#include <cstdint>

#include "trace/synth/truth.h"

namespace stepscope::synth {

inline constexpr int64_t kCycle = 24;
/// Steps of a cycle in which the straggler is slow.
inline constexpr int64_t kFirstStragglerStep = 18, kLastStragglerStep = 22;
/// Its kernels take so much of their usual time.
inline constexpr int64_t kStragglerPermille = 1300;

/// What happens to one rank in one step.
struct StepFaults {
  IdleCause cause = IdleCause::kUnexplained;  ///< of the idle time that is injected; only if cost_ns > 0
  int64_t cost_ns = 0;
  bool rendezvous = false;  ///< the last all-reduce starts only once all ranks have launched it
  bool late = false;        ///< … and this rank launches it late: `cause` is launch_starved here, peer on the others
  bool straggler = false;
};

/// `reads_input`: whether the rank waits for data at all.
StepFaults faults_of(uint64_t seed, int64_t step, int32_t rank, int32_t ranks, bool reads_input);
/// The rank that is slow in the straggler's steps; −1 where there are no others to wait for it.
int32_t straggler_of(uint64_t seed, int32_t ranks);

}  // namespace stepscope::synth
