// Lets the ranks meet in their collectives: each begins where its stream is free, all end together
// one transfer after the last has come, give or take the microseconds by which ends differ on real
// links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/synth/process/process.h"

namespace stepscope::synth {

class Exchange {
 public:
  Exchange(uint32_t meetings, uint64_t seed)
      : meetings_(meetings), random_(hash_of(seed, 0xE8C4)) {}

  void begin_step();
  /// Takes what the streams of a rank offer, and concludes every meeting that is complete with it,
  /// on all its participants.
  void settle(std::span<Process> processes, size_t rank);

 private:
  struct Arrival {
    size_t rank;
    uint32_t stream;
    Process::Offer offer;
  };
  using Meeting = std::vector<Arrival>;
  /// When the last and the last but one of the participants were launched, and who was last.
  struct Launches {
    int64_t last = INT64_MIN, second = INT64_MIN;
    size_t last_rank = 0;
  };
  static Launches launches_of(Meeting const& meeting);
  void conclude(Meeting& meeting, std::span<Process> processes);

  std::vector<Meeting> meetings_;
  std::vector<size_t> to_settle_;  ///< ranks whose streams may have something to offer
  Random random_;
};

}  // namespace stepscope::synth
