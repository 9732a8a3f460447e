// Synchronizes the ranks in their collectives. Each rank begins where its stream is free. All end
// together one transfer after the last has come, give or take the microseconds by which ends differ
// on real links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/synth/process/process.h"

namespace stepscope::synth {

class Exchange {
 public:
  Exchange(uint32_t joins, uint64_t seed) : joins_(joins), random_(hash_of(seed, 0xE8C4)) {}

  void begin_step();
  /// Takes what the streams of a rank offer, and concludes every collective that is complete with
  /// it, on all its participants.
  void settle(std::span<Process> processes, size_t rank);

 private:
  struct Arrival {
    size_t rank;
    uint32_t stream;
    Process::Offer offer;
  };
  using CollectiveJoin = std::vector<Arrival>;
  /// When the last and the last but one of the participants were launched, and who was last.
  struct Launches {
    int64_t last = INT64_MIN, second = INT64_MIN;
    size_t last_rank = 0;
  };
  static Launches launches_of(CollectiveJoin const& join);
  void conclude(CollectiveJoin& join, std::span<Process> processes);

  std::vector<CollectiveJoin> joins_;
  std::vector<size_t> to_settle_;  ///< ranks whose streams may have something to offer
  Random random_;
};

}  // namespace stepscope::synth
