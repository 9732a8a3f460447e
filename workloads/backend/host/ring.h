// All-reduce (mean) between the threads of one process: the ring algorithm (reduce-scatter, then all-gather),
// cut into pieces so that a neighbour can go on while the rest is still being reduced. A member reads its left neighbour's
// buffer directly and writes the finished segment back to it. Each element is summed in one order only, then copied: the results
// are bit-identical on all members.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "workloads/backend/backend.h"

namespace stepscope::workloads::host {

class Ring final : public Communicator {
 public:
  explicit Ring(uint32_t members);

  [[nodiscard]] uint64_t id() const { return id_; }
  [[nodiscard]] uint32_t members() const { return members_; }
  /// The number of the member's next collective, from 0; called by the member's host thread.
  uint64_t next_sequence(uint32_t rank) { return state_[rank].sequence++; }
  /// Blocks until data[0, count) is the mean over all members and nobody reads it any more. All members must call it with the
  /// same count (checked), each from one thread.
  void all_reduce_mean(uint32_t rank, float* data, size_t count);

 private:
  struct alignas(64) Member {
    std::atomic<uint32_t> progress = 0;  ///< pieces done since the ring exists; wraps, compared by difference
    float* data = nullptr;               ///< published by the progress that says "arrived"
    size_t count = 0;
    uint32_t base = 0;  ///< progress when the current collective began; the same on all members
    uint64_t sequence = 0;
  };
  static void publish(Member& member, uint32_t progress);
  static void await(Member const& member, uint32_t progress);

  uint64_t id_;
  uint32_t members_;
  std::unique_ptr<Member[]> state_;
};

}  // namespace stepscope::workloads::host
