#include "trace/synth/faults.h"

#include "trace/synth/random.h"

namespace stepscope::synth {
namespace {

constexpr int64_t kCostNs = 5'000'000;  // a quarter of a step: visible, and no more than real ones
constexpr int64_t kCostPermille = 250;  // by which it varies

// Places in the cycle. The first steps are healthy: they are warm-up to an analyzer.
constexpr int64_t kInputStep = 3, kSyncStep = 5, kStarvedStep = 7, kAllocationStep = 10, kDependencyStep = 12, kPeerStep = 15;

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

}  // namespace

int32_t straggler_of(uint64_t seed, int32_t ranks) {
  return ranks < 2 ? -1 : static_cast<int32_t>(hash_of(seed, 0x57A6) % static_cast<uint64_t>(ranks));
}

StepFaults faults_of(uint64_t seed, int64_t step, int32_t rank, int32_t ranks, bool reads_input) {
  int64_t const place = step % kCycle;
  bool const is_victim = victim(seed, step, ranks) == rank;
  int64_t const cost_ns = vary(kCostNs, kCostPermille, hash_of(seed, step, 0xC057));
  switch (place) {
    case kInputStep:  // storage is slow for everyone
      return injected(IdleCause::kInput, cost_ns, reads_input);
    case kSyncStep:
      return injected(IdleCause::kSync, cost_ns, is_victim);
    case kStarvedStep:
      return injected(IdleCause::kLaunchStarved, cost_ns, is_victim);
    case kAllocationStep:
      return injected(IdleCause::kAllocation, cost_ns, is_victim);
    case kDependencyStep:  // the batch is unpacked late: what waits for its copy goes on late
      return injected(IdleCause::kDependency, cost_ns, reads_input);
    case kPeerStep:
      if (ranks < 2) return {};
      return {is_victim ? IdleCause::kLaunchStarved : IdleCause::kPeer, cost_ns, true, is_victim, false};
    default:
      break;
  }
  StepFaults faults;
  faults.straggler = place >= kFirstStragglerStep && place <= kLastStragglerStep && rank == straggler_of(seed, ranks);
  return faults;
}

}  // namespace stepscope::synth
