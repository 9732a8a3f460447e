// Collectives between processes; see process_ring.h. The ring all-reduce: in step s member r adds what comes from member r − 1 to
// its segment (r − 1 − s) mod n in the first n − 1 steps and replaces it in the others, and hands each piece on to member r + 1.
#include "workloads/backend/host/process_ring.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

/// The first of `count` numbers that no other communicator has: all processes make theirs in the same order, and rings inside one
/// process count from 1.
uint64_t next_shared_ids(uint64_t count) {
  static std::atomic<uint64_t> last = uint64_t{1} << 32U;
  return last.fetch_add(count, std::memory_order_relaxed);
}

/// Calls `work(begin, length)` for each piece of [0, count).
template <class Work>
void for_pieces(size_t count, Work const& work) {
  for (size_t begin = 0; begin < count; begin += kPieceFloats) work(begin, std::min(count - begin, kPieceFloats));
}

}  // namespace

ProcessRing::ProcessRing(std::shared_ptr<Processes> processes, uint32_t local)
    : processes_(std::move(processes)),
      local_(local),
      first_(processes_->rank() * local),
      members_(processes_->size() * local),
      state_(local),
      mailboxes_(std::make_unique<Mailbox[]>(size_t{2} * local * local)) {
  STEPSCOPE_CHECK(local > 0);
  id_ = next_shared_ids(1 + uint64_t{members_} * members_);
  for (Member& member : state_) member.piece.resize(kPieceFloats);
}

int ProcessRing::tag(Purpose purpose, uint32_t from, uint32_t to) const {
  return static_cast<int>((static_cast<uint32_t>(purpose) * local_ + from % local_) * local_ + to % local_);
}

Mailbox& ProcessRing::mailbox(Purpose purpose, uint32_t from, uint32_t to) {
  return mailboxes_[static_cast<size_t>(tag(purpose, from, to))];
}

void ProcessRing::put(Purpose purpose, uint32_t from, uint32_t to, float const* data, size_t count) {
  if (is_here(to)) return mailbox(purpose, from, to).send(data, count);
  for_pieces(count, [&](size_t begin, size_t length) {
    processes_->send(to / local_, tag(purpose, from, to), data + begin, length * sizeof(float));
  });
}

void ProcessRing::take(Purpose purpose, uint32_t from, uint32_t to, float* data, size_t count) {
  if (is_here(from)) return mailbox(purpose, from, to).receive(data, count);
  for_pieces(count, [&](size_t begin, size_t length) {
    processes_->receive(from / local_, tag(purpose, from, to), data + begin, length * sizeof(float));
  });
}

void ProcessRing::exchange(uint32_t rank, Collective const& what) {
  STEPSCOPE_CHECK(is_here(rank) && what.peer < members_);
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
      return put(Purpose::kMessage, rank, what.peer, what.send, what.count);
    case CollectiveOp::kReceive:
      return take(Purpose::kMessage, what.peer, rank, what.receive, what.count);
    case CollectiveOp::kReduce:
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kBarrier:
      break;
  }
  STEPSCOPE_CHECK(false);  // no workload uses it
}

void ProcessRing::all_reduce_mean(uint32_t rank, float* data, size_t count) {
  uint32_t const n = members_;
  uint32_t const left = (rank + n - 1) % n, right = (rank + 1) % n;
  size_t const segment = (count + n - 1) / n;
  uint32_t const steps = 2 * (n - 1);
  float const scale = 1.0F / static_cast<float>(n);
  float* const theirs = state_[rank - first_].piece.data();
  auto const first_of = [&](size_t owner) { return std::min(count, owner * segment); };

  float* const mine = data + first_of(rank);
  for_pieces(first_of(rank + 1) - first_of(rank),
             [&](size_t begin, size_t length) { put(Purpose::kCollective, rank, right, mine + begin, length); });
  for (uint32_t step = 0; step < steps; ++step) {
    size_t const owner = (rank + 2 * n - 1 - step) % n;
    float* const own = data + first_of(owner);
    for_pieces(first_of(owner + 1) - first_of(owner), [&](size_t begin, size_t length) {
      float* const to = own + begin;
      bool const adds = step + 1 < n;
      take(Purpose::kCollective, left, rank, adds ? theirs : to, length);
      if (adds) {
        float const factor = step + 2 == n ? scale : 1.0F;
#pragma omp simd
        for (size_t i = 0; i < length; ++i) to[i] = (to[i] + theirs[i]) * factor;
      }
      if (step + 1 < steps) put(Purpose::kCollective, rank, right, to, length);
    });
  }
}

void ProcessRing::reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  size_t const part = count / n;
  float const scale = 1.0F / static_cast<float>(n);
  float* const theirs = state_[rank - first_].piece.data();
  auto const in_pieces = [&](auto const& work) { for_pieces(part, work); };
  for (uint32_t distance = 1; distance < n; ++distance) {
    uint32_t const to = (rank + n - distance) % n;
    in_pieces([&](size_t begin, size_t length) { put(Purpose::kCollective, rank, to, send + to * part + begin, length); });
  }
  for (uint32_t distance = 1; distance < n; ++distance) {
    in_pieces([&](size_t begin, size_t length) {
      take(Purpose::kCollective, (rank + distance) % n, rank, theirs, length);
      float const* const so_far = (distance == 1 ? send + rank * part : receive) + begin;  // may be `receive` from the start
      float* const sum = receive + begin;
      float const factor = distance + 1 == n ? scale : 1.0F;
#pragma omp simd
      for (size_t i = 0; i < length; ++i) sum[i] = (so_far[i] + theirs[i]) * factor;
    });
  }
}

void ProcessRing::all_gather(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  size_t const part = count / n;
  for (uint32_t distance = 1; distance < n; ++distance) put(Purpose::kCollective, rank, (rank + distance) % n, send, part);
  copy_unless_same(send, receive + rank * part, part);
  for (uint32_t distance = 1; distance < n; ++distance) {
    uint32_t const from = (rank + n - distance) % n;
    take(Purpose::kCollective, from, rank, receive + from * part, part);
  }
}

void ProcessRing::broadcast(uint32_t rank, uint32_t root, float const* send, float* receive, size_t count) {
  float answer = 0;  // so that the root is over when all have the data, as inside one process
  if (rank != root) {
    take(Purpose::kCollective, root, rank, receive, count);
    return put(Purpose::kCollective, rank, root, &answer, 1);
  }
  for (uint32_t member = 0; member < members_; ++member) {
    if (member != root) put(Purpose::kCollective, root, member, send, count);
  }
  copy_unless_same(send, receive, count);
  for (uint32_t member = 0; member < members_; ++member) {
    if (member != root) take(Purpose::kCollective, member, root, &answer, 1);
  }
}

}  // namespace stepscope::workloads::host
