// Collectives and messages between the threads of one process. All-reduce (mean): the ring algorithm (reduce-scatter, then
// all-gather), cut into pieces so that a neighbour can go on while the rest is still being reduced. A member reads its left
// neighbour's buffer directly and writes the finished segment back to it. Each element is summed in one order only, then copied:
// the results are bit-identical on all members. The other collectives read the buffers of all members directly, which shared
// memory makes no dearer than a ring. Messages between two members: mailbox.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "workloads/backend/host/communicator.h"
#include "workloads/backend/host/mailbox.h"

namespace stepscope::workloads::host {

class Ring final : public HostCommunicator {
 public:
  explicit Ring(uint32_t members);

  [[nodiscard]] uint64_t id() const override { return id_; }
  [[nodiscard]] uint32_t members() const override { return members_; }
  uint64_t next_sequence(uint32_t rank) override { return state_[rank].sequence++; }
  void exchange(uint32_t rank, Collective const& what) override;

  // Collectives: block until the result is there and nobody reads this member's buffers any more. All members must call the same
  // ones in the same order with the same count (checked), each from one thread.

  /// data[0, count) ← mean over all members.
  void all_reduce_mean(uint32_t rank, float* data, size_t count);
  /// receive[0, count / members) ← mean over all members of their send[rank · count / members …]. In the order in which
  /// all_reduce_mean sums: with all_gather it gives the same bits. `receive` may be the member's part of `send`.
  void reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count);
  /// receive[m · count / members …] ← member m's send[0, count / members). `send` may be the member's part of `receive`.
  void all_gather(uint32_t rank, float const* send, float* receive, size_t count);
  /// receive[0, count) ← the root's send; the root's `receive` may be its `send`.
  void broadcast(uint32_t rank, uint32_t root, float const* send, float* receive, size_t count);

  /// Messages from one member to another (or itself), in order.
  [[nodiscard]] Mailbox& mailbox(uint32_t from, uint32_t to) { return mailboxes_[size_t{from} * members_ + to]; }

 private:
  struct alignas(64) Member {
    std::atomic<uint32_t> progress = 0;  ///< pieces done since the ring exists; wraps, compared by difference
    float* data = nullptr;               ///< what neighbours write to; published by the progress that says "arrived"
    float const* send = nullptr;         ///< what others read, likewise
    size_t count = 0;
    uint32_t base = 0;  ///< progress when the current collective began; the same on all members
    uint64_t sequence = 0;
  };
  static void publish(Member& member, uint32_t progress);
  static void await(Member const& member, uint32_t progress);
  void await_all(uint32_t progress) const;
  /// All members have come, and this one's `send` may be read.
  void arrive(uint32_t rank, float const* send, size_t count);
  /// All members have read what they needed.
  void leave(uint32_t rank);

  uint64_t id_;
  uint32_t members_;
  std::unique_ptr<Member[]> state_;
  std::unique_ptr<Mailbox[]> mailboxes_;
};

}  // namespace stepscope::workloads::host
