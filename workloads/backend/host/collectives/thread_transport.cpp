// Collectives through shared memory; see thread_transport.h. Each member publishes one number, its
// progress.
#include "workloads/backend/host/collectives/thread_transport.h"

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

/// The first of `count` numbers, > 0, that no other communicator of this process has.
uint64_t next_communicator_ids(uint64_t count) {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(count, std::memory_order_relaxed) + 1;
}

}  // namespace

ThreadTransport::ThreadTransport(uint32_t members)
    : id_(next_communicator_ids(1 + uint64_t{members} * members)),
      members_(members),
      state_(std::make_unique<Member[]>(members)),
      mailboxes_(std::make_unique<Mailbox[]>(size_t{members} * members)) {
  STEPSCOPE_CHECK(members > 0);
}

void ThreadTransport::publish(Member& member) {
  member.progress.store(++member.done, std::memory_order_release);
  member.progress.notify_all();
}

void ThreadTransport::await(Member const& member, uint32_t progress) {
  for (;;) {
    uint32_t const seen = member.progress.load(std::memory_order_acquire);
    if (static_cast<int32_t>(seen - progress) >= 0) return;
    member.progress.wait(seen, std::memory_order_acquire);
  }
}

void ThreadTransport::begin(uint32_t rank, float const* data, float* writable, size_t count) {
  Member& me = state_[rank];
  me.data = data;
  me.writable = writable;
  me.count = count;
  me.begun = me.done + 1;
  publish(me);
}

void ThreadTransport::give(uint32_t, uint32_t, float const*, size_t) {}

float const* ThreadTransport::take(uint32_t rank, Origin const& from, size_t, float*) {
  Member const& me = state_[rank];
  Member const& other = state_[from.member];
  await(other, me.begun + from.pieces);
  STEPSCOPE_CHECK(other.count == me.count);
  return other.data + from.offset;
}

float* ThreadTransport::writable(Origin const& from) {
  return state_[from.member].writable + from.offset;
}

void ThreadTransport::finish_piece(uint32_t rank) { publish(state_[rank]); }

void ThreadTransport::end(uint32_t rank, Readers readers) {
  Member& me = state_[rank];
  // All members make as much progress in a collective.
  if (readers == Readers::kRightNeighbour) return await(state_[(rank + 1) % members_], me.done);
  publish(me);
  for (uint32_t member = 0; member < members_; ++member) await(state_[member], me.done);
}

void ThreadTransport::send(uint32_t rank, uint32_t to, float const* data, size_t count) {
  mailbox(rank, to).send(data, count);
}

void ThreadTransport::receive(uint32_t rank, uint32_t from, float* data, size_t count) {
  mailbox(from, rank).receive(data, count);
}

}  // namespace stepscope::workloads::host
