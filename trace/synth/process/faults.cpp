#include "trace/synth/process/faults.h"

#include <cmath>

#include "trace/synth/process/random.h"

namespace stepscope::synth {
namespace {

constexpr int64_t kCostNs = 5'000'000;  // a quarter of a step: visible, and no more than real ones
constexpr int64_t kCostPermille = 250;  // by which it varies

// Places in the cycle. The first steps are healthy: they are warm-up to an analyzer.
constexpr int64_t kInputStep = 3, kSyncStep = 5, kStarvedStep = 7, kAllocationStep = 10,
                  kDependencyStep = 12, kPeerStep = 15;

// The faults of --fault.
constexpr int64_t kLatenessPermille = 50;  // by which what comes late varies
constexpr int64_t kCheckpointEvery = 10;
constexpr int64_t kCompileNs = 40'000'000;
/// The last steps of each such cycle are throttled: a device that is too hot cools, and heats
/// again.
constexpr int64_t kHeatCycle = 20, kFirstThrottledStep = 8;

int64_t in_permille(double times) { return std::llround(times * 1000); }

/// The one rank to which a fault happens.
int32_t victim(uint64_t seed, int64_t step, int32_t ranks) {
  return static_cast<int32_t>(hash_of(seed, step) % static_cast<uint64_t>(ranks));
}

StepFaults injected(IdleCause cause, int64_t cost_ns, bool happens) {
  StepFaults faults;
  if (happens) {
    faults.cause = cause;
    faults.cost_ns = cost_ns;
  }
  return faults;
}

StepFaults busy_host(HostWorkKind work, int64_t cost_ns, bool happens) {
  StepFaults faults = injected(IdleCause::kLaunchBound, cost_ns, happens);
  faults.work = work;
  return faults;
}

StepFaults slow_kernels(int64_t permille, bool happens) {
  StepFaults faults;
  faults.straggler = happens;
  if (happens) faults.permille = permille;
  return faults;
}

/// Without the fault there is as much work, and every rank has as much of it.
StepFaults unequal_work(Job const& job, bool has_more) {
  int64_t const more = in_permille(job.fault->amount) - 1000;
  if (job.happens) return slow_kernels(1000 + more, has_more);
  StepFaults equal;
  equal.permille = 1000 + more / job.ranks;
  return equal;
}

StepFaults of_cycle(Job const& job, int64_t step, int32_t rank, bool reads_input) {
  int64_t const place = step % kCycle;
  bool const is_victim = victim(job.seed, step, job.ranks) == rank;
  int64_t const cost_ns = vary(kCostNs, kCostPermille, hash_of(job.seed, step, 0xC057));

  switch (place) {
    case kInputStep:  // storage is slow for everyone
      return injected(IdleCause::kInput, cost_ns, reads_input);
    case kSyncStep:
      return injected(IdleCause::kSync, cost_ns, is_victim);
    case kStarvedStep:
      return injected(IdleCause::kLaunchBound, cost_ns, is_victim);
    case kAllocationStep:
      return injected(IdleCause::kAllocation, cost_ns, is_victim);
    case kDependencyStep:  // the batch is unpacked late: what waits for its copy goes on late
      return injected(IdleCause::kDependency, cost_ns, reads_input);
    case kPeerStep: {
      if (job.ranks < 2) return {};
      StepFaults faults =
          injected(is_victim ? IdleCause::kLaunchBound : IdleCause::kPeer, cost_ns, true);
      faults.rendezvous = true;
      faults.late = is_victim;
      return faults;
    }
    default:
      break;
  }

  bool const is_slow = place >= kFirstStragglerStep && place <= kLastStragglerStep &&
                       rank == straggler_of(job.seed, job.ranks);
  return slow_kernels(kStragglerPermille, is_slow);
}

StepFaults of_fault(Job const& job, int64_t step, int32_t rank, bool reads_input) {
  double const amount = job.fault->amount;
  int64_t const late_ns =
      vary(static_cast<int64_t>(amount * 1e6), kLatenessPermille, hash_of(job.seed, step, 0xC057));

  switch (job.fault->kind->type) {
    case FaultType::kInput:
      return injected(IdleCause::kInput, late_ns, reads_input);
    case FaultType::kLateRank:
      return busy_host(HostWorkKind::kElsewhere, late_ns, rank == rank_of_fault(job));
    case FaultType::kStraggler:
      return slow_kernels(in_permille(amount), rank == rank_of_fault(job));
    case FaultType::kOutliers:
      return busy_host(HostWorkKind::kCheckpoint, late_ns,
                       step % kCheckpointEvery == kCheckpointEvery - 1 && rank == 0);
    case FaultType::kWarmup:
      return busy_host(HostWorkKind::kCompile, kCompileNs, step < static_cast<int64_t>(amount));
    case FaultType::kThrottling: {
      bool const throttled = step % kHeatCycle >= kFirstThrottledStep;
      StepFaults faults;
      faults.throttled = throttled;
      if (throttled) faults.permille = in_permille(amount);
      return faults;
    }
    default:
      return {};
  }
}

}  // namespace

int32_t straggler_of(uint64_t seed, int32_t ranks) {
  return ranks < 2 ? -1
                   : static_cast<int32_t>(hash_of(seed, 0x57A6) % static_cast<uint64_t>(ranks));
}

int32_t rank_of_fault(Job const& job) {
  if (job.is_about(FaultType::kLateRank) || job.is_about(FaultType::kStraggler))
    return straggler_of(job.seed, job.ranks);
  return job.is_about(FaultType::kOutliers) ? 0 : -1;
}

StepFaults faults_of(Job const& job, int64_t step, int32_t rank, bool reads_input) {
  if (!job.is_tuned()) return of_cycle(job, step, rank, reads_input);
  if (job.is_about(FaultType::kImbalance))
    return unequal_work(job, rank == victim(job.seed, step, job.ranks));
  return job.happens ? of_fault(job, step, rank, reads_input) : StepFaults{};
}

int64_t expert_permille(Job const& job, int64_t step, int32_t layer, int32_t rank) {
  auto const random = hash_of(job.seed, step, layer, rank);
  constexpr uint64_t kSpread = 900;
  constexpr uint64_t kBalancedSpread = 60;
  return job.is_tuned() ? 970 + static_cast<int64_t>(random % kBalancedSpread)
                        : 600 + static_cast<int64_t>(random % kSpread);
}

}  // namespace stepscope::synth
