// The collectives of host devices; see ring.h. The ring all-reduce: step s of member r takes segment (r − 1 − s) mod n from
// member r − 1, adds it to its own in the first n − 1 steps and replaces its own in the others. The step that completes a segment
// also writes it back to member r − 1, which nobody but r reads it from: that saves the last step of the all-gather, and between
// two members all of it.
#include "workloads/backend/host/ring.h"

#include <algorithm>
#include <cstring>

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

/// The first of `count` numbers, > 0, that no other communicator of this process has.
uint64_t next_communicator_ids(uint64_t count) {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(count, std::memory_order_relaxed) + 1;
}

constexpr size_t kLineFloats = 16;
/// A neighbour's piece lies in its core's cache: lines are asked for so far ahead that they have come by then, 2 KiB.
constexpr size_t kFloatsAhead = 512;

/// Calls `element(i)` for all of [0, length), while the lines of both buffers that it comes to later are brought near to be
/// written.
template <class Element>
void for_each_element(float* own, float* theirs, size_t length, Element element) {
  size_t const whole = length - length % kLineFloats;
  size_t const last = length > 0 ? length - 1 : 0;
  for (size_t line = 0; line < whole; line += kLineFloats) {
    size_t const ahead = std::min(line + kFloatsAhead, last);
    __builtin_prefetch(own + ahead, 1);
    __builtin_prefetch(theirs + ahead, 1);
#pragma omp simd
    for (size_t i = line; i < line + kLineFloats; ++i) element(i);
  }
  for (size_t i = whole; i < length; ++i) element(i);
}

}  // namespace

Ring::Ring(uint32_t members)
    : id_(next_communicator_ids(1 + uint64_t{members} * members)),
      members_(members),
      state_(std::make_unique<Member[]>(members)),
      mailboxes_(std::make_unique<Mailbox[]>(size_t{members} * members)) {
  STEPSCOPE_CHECK(members > 0);
}

void Ring::exchange(uint32_t rank, Collective const& what) {
  switch (what.op) {
    case CollectiveOp::kAllReduce:
      return all_reduce_mean(rank, what.receive, what.count);
    case CollectiveOp::kReduceScatter:
      return reduce_scatter_mean(rank, what.send, what.receive, what.count);
    case CollectiveOp::kAllGather:
      return all_gather(rank, what.send, what.receive, what.count);
    case CollectiveOp::kBroadcast:
      return broadcast(rank, what.peer, what.send, what.receive, what.count);
    case CollectiveOp::kSend:
      return mailbox(rank, what.peer).send(what.send, what.count);
    case CollectiveOp::kReceive:
      return mailbox(what.peer, rank).receive(what.receive, what.count);
    case CollectiveOp::kReduce:
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kBarrier:
      break;
  }
  STEPSCOPE_CHECK(false);  // no workload uses it
}

void Ring::publish(Member& member, uint32_t progress) {
  member.progress.store(progress, std::memory_order_release);
  member.progress.notify_all();
}

void Ring::await(Member const& member, uint32_t progress) {
  for (;;) {
    uint32_t const seen = member.progress.load(std::memory_order_acquire);
    if (static_cast<int32_t>(seen - progress) >= 0) return;
    member.progress.wait(seen, std::memory_order_acquire);
  }
}

void Ring::await_all(uint32_t progress) const {
  for (uint32_t member = 0; member < members_; ++member) await(state_[member], progress);
}

void Ring::arrive(uint32_t rank, float const* send, size_t count) {
  Member& me = state_[rank];
  me.send = send;
  me.count = count;
  publish(me, me.base + 1);
  await_all(me.base + 1);
  for (uint32_t member = 0; member < members_; ++member) STEPSCOPE_CHECK(state_[member].count == count);
}

void Ring::leave(uint32_t rank) {
  Member& me = state_[rank];
  publish(me, me.base + 2);
  await_all(me.base + 2);
  me.base += 2;
}

void Ring::all_reduce_mean(uint32_t rank, float* data, size_t count) {
  uint32_t const n = members_;
  if (n == 1) return;
  Member& me = state_[rank];
  Member const& left = state_[(rank + n - 1) % n];
  Member const& right = state_[(rank + 1) % n];
  size_t const segment = (count + n - 1) / n;
  auto const pieces = static_cast<uint32_t>(std::max<size_t>(1, (segment + kPieceFloats - 1) / kPieceFloats));
  uint32_t const steps = 2 * (n - 1) - 1;
  uint32_t const arrived = me.base + 1;
  float const scale = 1.0F / static_cast<float>(n);

  me.data = data;
  me.count = count;
  publish(me, arrived);
  await(left, arrived);
  STEPSCOPE_CHECK(left.count == count);
  for (uint32_t step = 0; step < steps; ++step) {
    size_t const owner = (rank + 2 * n - 1 - step) % n;
    size_t const first = std::min(count, owner * segment);
    size_t const last = std::min(count, first + segment);
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      if (step > 0) await(left, arrived + (step - 1) * pieces + piece + 1);
      size_t const begin = std::min(last, first + piece * kPieceFloats);
      size_t const length = std::min(last, begin + kPieceFloats) - begin;
      float* const own = data + begin;
      float* const theirs = left.data + begin;
      if (step + 1 < n - 1) {
#pragma omp simd
        for (size_t i = 0; i < length; ++i) own[i] += theirs[i];
      } else if (step + 1 == n - 1) {
        for_each_element(own, theirs, length, [&](size_t i) { own[i] = theirs[i] = (own[i] + theirs[i]) * scale; });
      } else if (length > 0) {
        std::memcpy(own, theirs, length * sizeof(float));
      }
      publish(me, arrived + step * pieces + piece + 1);
    }
  }
  // The right neighbour reads this buffer, and writes its last segment, until it has done its last step.
  uint32_t const end = arrived + steps * pieces;
  await(right, end);
  me.base = end;
}

void Ring::reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  if (n == 1) return copy_unless_same(send, receive, count);
  size_t const part = count / n;
  float const scale = 1.0F / static_cast<float>(n);
  arrive(rank, send, count);
  for (size_t begin = 0; begin < part; begin += kPieceFloats) {
    size_t const length = std::min(part - begin, kPieceFloats);
    float const* const own = send + rank * part + begin;  // may be `sum`
    float* const sum = receive + begin;
    for (uint32_t distance = 1; distance < n; ++distance) {
      float const* const theirs = state_[(rank + distance) % n].send + rank * part + begin;
      float const* const so_far = distance == 1 ? own : sum;
      float const factor = distance + 1 == n ? scale : 1.0F;
#pragma omp simd
      for (size_t i = 0; i < length; ++i) sum[i] = (so_far[i] + theirs[i]) * factor;
    }
  }
  leave(rank);
}

void Ring::all_gather(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  size_t const part = count / n;
  if (n > 1) arrive(rank, send, count);
  // From the right neighbour on: the members do not all read the same one.
  for (uint32_t distance = 0; distance < n; ++distance) {
    uint32_t const member = (rank + distance) % n;
    copy_unless_same(member == rank ? send : state_[member].send, receive + member * part, part);
  }
  if (n > 1) leave(rank);
}

void Ring::broadcast(uint32_t rank, uint32_t root, float const* send, float* receive, size_t count) {
  STEPSCOPE_CHECK(root < members_);
  arrive(rank, send, count);
  copy_unless_same(state_[root].send, receive, count);
  leave(rank);
}

}  // namespace stepscope::workloads::host
