// Collectives and messages between host devices: the algorithms, over any transport (transport.h).
// All-reduce (mean): the ring algorithm (reduce-scatter, then all-gather), cut into pieces so that
// a neighbour can go on while the rest is still being reduced. Each element is summed in one order
// only, then copied, so all members get the same bits. N processes with M members each get the bits
// of one process with N × M. The other collectives take from all members directly, which costs no
// more than a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/backend/host/collectives/transport.h"

namespace stepscope::workloads::host {

class Ring final : public Communicator {
 public:
  explicit Ring(std::unique_ptr<Transport> transport);

  /// In traces; the same on all members.
  [[nodiscard]] uint64_t id() const { return transport_->id(); }
  [[nodiscard]] uint32_t members() const { return members_; }
  /// The number of the member's next collective, from 0; called by the member's host thread.
  uint64_t next_sequence(uint32_t rank) { return sequences_[rank].next++; }
  /// Messages of a pair and direction are a communicator of their own in traces, with the sender as
  /// rank 0 and the receiver as rank 1. Each side counts its messages alone and both get the same
  /// numbers.
  [[nodiscard]] uint64_t mailbox_id(uint32_t from, uint32_t to) const {
    return id() + 1 + uint64_t{from} * members_ + to;
  }
  /// Member `rank`'s part, from one thread each: one of the functions below.
  void exchange(uint32_t rank, Collective const& what);

  // Collectives: block until the result is there and no other member reads this member's buffers
  // any more. All members must call the same ones in the same order with the same count (checked
  // where they share memory), each from one thread.

  /// data[0, count) ← mean over all members.
  void all_reduce_mean(uint32_t rank, float* data, size_t count);
  /// receive[0, count / members) ← mean over all members of their send[rank · count / members …].
  /// In the order in which all_reduce_mean sums: with all_gather it gives the same bits. `receive`
  /// may be the member's part of `send`.
  void reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count);
  /// receive[m · count / members …] ← member m's send[0, count / members). `send` may be the
  /// member's part of `receive`.
  void all_gather(uint32_t rank, float const* send, float* receive, size_t count);
  /// receive[0, count) ← the root's send; the root's `receive` may be its `send`.
  void broadcast(uint32_t rank, uint32_t root, float const* send, float* receive, size_t count);

  // Messages from one member to another (or itself), in order. A send never waits for its receive.

  void send(uint32_t rank, uint32_t to, float const* data, size_t count) {
    transport_->send(rank, to, data, count);
  }
  void receive(uint32_t rank, uint32_t from, float* data, size_t count) {
    transport_->receive(rank, from, data, count);
  }

 private:
  struct alignas(64) Sequence {
    uint64_t next = 0;
  };

  std::unique_ptr<Transport> transport_;
  uint32_t members_;
  std::vector<Sequence> sequences_;  ///< by member
};

}  // namespace stepscope::workloads::host
