// The collectives of host devices; see ring.h. The ring all-reduce: step s of member r takes
// segment (r − 1 − s) mod n from member r − 1. It adds it to its own in the first n − 1 steps and
// replaces its own in the others. Where memory is shared, the step that completes a segment also
// writes it back to member r − 1, which only r reads it from. This saves the last step of the
// all-gather, and between two members all of it.
#include "workloads/backend/host/collectives/ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

constexpr size_t kLineFloats = 16;
/// A neighbour's piece lies in its core's cache: lines are asked for so far ahead that they have
/// come by then, 2 KiB.
constexpr size_t kFloatsAhead = 512;

void copy_unless_same(float const* from, float* to, size_t count) {
  if (from != to && count > 0) std::memcpy(to, from, count * sizeof(float));
}

void add_to(float* own, float const* theirs, size_t length) {
#pragma omp simd
  for (size_t i = 0; i < length; ++i) own[i] += theirs[i];
}

/// sum = (so_far + theirs) · factor
void add_and_scale(float* sum, float const* so_far, float const* theirs, size_t length,
                   float factor) {
#pragma omp simd
  for (size_t i = 0; i < length; ++i) sum[i] = (so_far[i] + theirs[i]) * factor;
}

/// own = theirs = (own + theirs) · factor, while the lines of both that come later are brought near
/// to be written.
void add_and_scale_both(float* own, float* theirs, size_t length, float factor) {
  size_t const whole = length - length % kLineFloats;
  size_t const last = length > 0 ? length - 1 : 0;

  for (size_t line = 0; line < whole; line += kLineFloats) {
    size_t const ahead = std::min(line + kFloatsAhead, last);
    __builtin_prefetch(own + ahead, 1);
    __builtin_prefetch(theirs + ahead, 1);
#pragma omp simd
    for (size_t i = line; i < line + kLineFloats; ++i)
      own[i] = theirs[i] = (own[i] + theirs[i]) * factor;
  }

  for (size_t i = whole; i < length; ++i) own[i] = theirs[i] = (own[i] + theirs[i]) * factor;
}

/// Calls `work(begin, length)` for each piece of [0, count).
template <class Work>
void for_pieces(size_t count, Work const& work) {
  for (size_t begin = 0; begin < count; begin += kPieceFloats)
    work(begin, std::min(count - begin, kPieceFloats));
}

}  // namespace

Ring::Ring(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), members_(transport_->members()), sequences_(members_) {}

void Ring::exchange(uint32_t rank, Collective const& what) {
  STEPSCOPE_CHECK(transport_->has(rank) && what.peer < members_);
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
      return send(rank, what.peer, what.send, what.count);
    case CollectiveOp::kReceive:
      return receive(rank, what.peer, what.receive, what.count);
    case CollectiveOp::kReduce:
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kBarrier:
      break;
  }
  STEPSCOPE_CHECK(false);  // no workload uses it
}

void Ring::all_reduce_mean(uint32_t rank, float* data, size_t count) {
  uint32_t const n = members_;
  if (n == 1) return;
  Transport& transport = *transport_;
  uint32_t const left = (rank + n - 1) % n, right = (rank + 1) % n;
  bool const writes_back = transport.shares_memory();
  uint32_t const adding = n - 1;  // steps
  uint32_t const steps = adding + (writes_back ? adding - 1 : adding);
  float const scale = 1.0F / static_cast<float>(n);

  size_t const segment = (count + n - 1) / n;
  auto const pieces =
      static_cast<uint32_t>(std::max<size_t>(1, (segment + kPieceFloats - 1) / kPieceFloats));
  // Begin and length of a piece. The last segments may be shorter: they have empty pieces, so that
  // all members count as many.
  auto const piece_of = [&](size_t owner, size_t piece) {
    size_t const last = std::min(count, (owner + 1) * segment);
    size_t const begin = std::min(last, owner * segment + piece * kPieceFloats);
    return std::pair(begin, std::min(last, begin + kPieceFloats) - begin);
  };

  transport.begin(rank, data, data, count);
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    auto const [begin, length] = piece_of(rank, piece);
    transport.give(rank, right, data + begin, length);
  }

  for (uint32_t step = 0; step < steps; ++step) {
    size_t const owner = (rank + 2 * n - 1 - step) % n;
    for (uint32_t piece = 0; piece < pieces; ++piece) {
      auto const [begin, length] = piece_of(owner, piece);
      float* const own = data + begin;
      bool const adds = step < adding;
      Origin const origin{left, begin, step == 0 ? 0 : (step - 1) * pieces + piece + 1};
      float const* const theirs = transport.take(rank, origin, length, adds ? nullptr : own);

      if (step + 1 < adding) {
        add_to(own, theirs, length);
      } else if (adds && writes_back) {
        add_and_scale_both(own, transport.writable(origin), length, scale);
      } else if (adds) {
        add_and_scale(own, own, theirs, length, scale);
      } else {
        copy_unless_same(theirs, own, length);
      }
      if (step + 1 < steps) transport.give(rank, right, own, length);
      transport.finish_piece(rank);
    }
  }
  // The right neighbour reads this buffer, and may write its last segment, until it has done its
  // last step.
  transport.end(rank, Transport::Readers::kRightNeighbour);
}

void Ring::reduce_scatter_mean(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  if (n == 1) return copy_unless_same(send, receive, count);
  size_t const part = count / n;
  float const scale = 1.0F / static_cast<float>(n);

  transport_->begin(rank, send, nullptr, count);
  for (uint32_t distance = 1; distance < n; ++distance) {
    uint32_t const to = (rank + n - distance) % n;
    for_pieces(part, [&](size_t begin, size_t length) {
      transport_->give(rank, to, send + to * part + begin, length);
    });
  }

  for_pieces(part, [&](size_t begin, size_t length) {
    float const* const own = send + rank * part + begin;  // may be `sum`
    float* const sum = receive + begin;
    for (uint32_t distance = 1; distance < n; ++distance) {
      Origin const origin{(rank + distance) % n, rank * part + begin, 0};
      float const* const theirs = transport_->take(rank, origin, length, nullptr);
      add_and_scale(sum, distance == 1 ? own : sum, theirs, length,
                    distance + 1 == n ? scale : 1.0F);
    }
  });
  transport_->end(rank, Transport::Readers::kAll);
}

void Ring::all_gather(uint32_t rank, float const* send, float* receive, size_t count) {
  uint32_t const n = members_;
  STEPSCOPE_CHECK(count % n == 0);
  size_t const part = count / n;
  if (n == 1) return copy_unless_same(send, receive, part);

  transport_->begin(rank, send, nullptr, count);
  for (uint32_t distance = 1; distance < n; ++distance)
    transport_->give(rank, (rank + n - distance) % n, send, part);

  // From the right neighbour on: the members do not all read the same one.
  copy_unless_same(send, receive + rank * part, part);
  for (uint32_t distance = 1; distance < n; ++distance) {
    uint32_t const member = (rank + distance) % n;
    float* const to = receive + member * part;
    copy_unless_same(transport_->take(rank, {member, 0, 0}, part, to), to, part);
  }
  transport_->end(rank, Transport::Readers::kAll);
}

void Ring::broadcast(uint32_t rank, uint32_t root, float const* send, float* receive,
                     size_t count) {
  STEPSCOPE_CHECK(root < members_);
  bool const copies = !transport_->shares_memory();
  float answer = 0;

  transport_->begin(rank, send, nullptr, count);
  if (rank != root) {
    copy_unless_same(transport_->take(rank, {root, 0, 0}, count, receive), receive, count);
    if (copies) transport_->give(rank, root, &answer, 1);
    return transport_->end(rank, Transport::Readers::kAll);
  }
  for (uint32_t member = 0; member < members_; ++member)
    if (member != root) transport_->give(root, member, send, count);
  copy_unless_same(send, receive, count);
  // A root that gives copies would be over before the others have theirs.
  for (uint32_t member = 0; copies && member < members_; ++member)
    if (member != root) transport_->take(root, {member, 0, 0}, 1, &answer);
  transport_->end(rank, Transport::Readers::kAll);
}

}  // namespace stepscope::workloads::host
