// What a host device asks of those that it exchanges data with: the threads of its own process (ring.h), or of several
// (process_ring.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "workloads/backend/backend.h"

namespace stepscope::workloads::host {

/// What collectives work on at a time, 128 KiB: a piece stays in the second-level cache between being reduced and being copied
/// on, and is long against a wake-up.
inline constexpr size_t kPieceFloats = 32 * 1024;

inline void copy_unless_same(float const* from, float* to, size_t count) {
  if (from != to && count > 0) std::memcpy(to, from, count * sizeof(float));
}

class HostCommunicator : public Communicator {
 public:
  /// In traces; the same on all members.
  [[nodiscard]] virtual uint64_t id() const = 0;
  [[nodiscard]] virtual uint32_t members() const = 0;
  /// The number of the member's next collective, from 0; called by the member's host thread.
  virtual uint64_t next_sequence(uint32_t rank) = 0;
  /// Messages of a pair and direction are a communicator of their own in traces, with the sender as rank 0 and the receiver as
  /// rank 1: each side counts its messages alone and both get the same numbers.
  [[nodiscard]] uint64_t mailbox_id(uint32_t from, uint32_t to) const { return id() + 1 + uint64_t{from} * members() + to; }
  /// Member `rank`'s part, from one thread each: blocks until the result is there and nobody reads this member's buffers any
  /// more. All members must call the same collectives in the same order with the same count.
  virtual void exchange(uint32_t rank, Collective const& what) = 0;
};

}  // namespace stepscope::workloads::host
