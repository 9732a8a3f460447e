// What goes wrong in which step. Without --fault: the same faults in every cycle of steps, each
// alone in its step, so that any kCycle steps of a run hold all of them and a shorter run is the
// beginning of a longer one. With it: what the fault does to a rank in a step. Faults of the
// programs themselves are the builder's.
#pragma once

#include <cstdint>

#include "trace/synth/process/job.h"
#include "trace/synth/process/truth.h"

namespace stepscope::synth {

inline constexpr int64_t kCycle = 24;
/// Steps of a cycle in which the straggler is slow.
inline constexpr int64_t kFirstStragglerStep = 18, kLastStragglerStep = 22;
/// Its kernels take so much of their usual time.
inline constexpr int64_t kStragglerPermille = 1300;

/// What the host is busy with while it launches nothing.
enum class HostWorkKind : uint8_t { kGarbage, kElsewhere, kCheckpoint, kCompile };

/// What happens to one rank in one step.
struct StepFaults {
  IdleCause cause =
      IdleCause::kUnexplained;  ///< of the idle time that is injected; only if cost_ns > 0
  int64_t cost_ns = 0;
  HostWorkKind work = HostWorkKind::kGarbage;  ///< where the cause is launch_starved
  bool rendezvous = false;  ///< the last all-reduce starts only once all ranks have launched it
  bool late = false;  ///< … and this rank launches it late: `cause` is launch_starved here, peer on
                      ///< the others
  bool straggler = false;   ///< its kernels are slower than the others'
  bool throttled = false;   ///< the clocks of all ranks are low
  int64_t permille = 1000;  ///< that this rank's kernels take of their usual time
};

/// `reads_input`: whether the rank waits for data at all.
StepFaults faults_of(Job const& job, int64_t step, int32_t rank, bool reads_input);
/// In the cycle: the rank that is slow in the straggler's steps; −1 where there are no others to
/// wait for it.
int32_t straggler_of(uint64_t seed, int32_t ranks);
/// The one rank to which the job's fault happens; −1 where it is not of one rank.
int32_t rank_of_fault(Job const& job);
/// Of a mixture of experts, in permille: how long a layer's experts take on a rank, since tokens
/// choose experts as they like.
int64_t expert_permille(Job const& job, int64_t step, int32_t layer, int32_t rank);

}  // namespace stepscope::synth
