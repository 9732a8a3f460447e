// Collectives by copies; see process_transport.h.
#include "workloads/backend/host/collectives/process_transport.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "trace/base/check.h"

namespace stepscope::workloads::host {
namespace {

/// The first of `count` numbers that no other communicator has: all processes make theirs in the
/// same order, and rings inside one process count from 1.
uint64_t next_shared_ids(uint64_t count) {
  static std::atomic<uint64_t> last = uint64_t{1} << 32U;
  return last.fetch_add(count, std::memory_order_relaxed);
}

/// Calls `work(begin, length)` for each message that [0, count) travels as.
template <class Work>
void for_messages(size_t count, Work const& work) {
  for (size_t begin = 0; begin < count; begin += kPieceFloats)
    work(begin, std::min(count - begin, kPieceFloats));
}

}  // namespace

ProcessTransport::ProcessTransport(std::shared_ptr<mpi::Processes> processes, uint32_t local)
    : processes_(std::move(processes)),
      local_(local),
      first_(processes_->rank() * local),
      members_(processes_->size() * local),
      pieces_(local, std::vector<float>(kPieceFloats)),
      mailboxes_(std::make_unique<Mailbox[]>(size_t{2} * local * local)) {
  STEPSCOPE_CHECK(local > 0);
  id_ = next_shared_ids(1 + uint64_t{members_} * members_);
}

int ProcessTransport::tag(Purpose purpose, uint32_t from, uint32_t to) const {
  return static_cast<int>((static_cast<uint32_t>(purpose) * local_ + from % local_) * local_ +
                          to % local_);
}

Mailbox& ProcessTransport::mailbox(Purpose purpose, uint32_t from, uint32_t to) {
  return mailboxes_[static_cast<size_t>(tag(purpose, from, to))];
}

void ProcessTransport::put(Purpose purpose, uint32_t from, uint32_t to, float const* data,
                           size_t count) {
  if (has(to)) return mailbox(purpose, from, to).send(data, count);
  for_messages(count, [&](size_t begin, size_t length) {
    processes_->send(to / local_, tag(purpose, from, to), data + begin, length * sizeof(float));
  });
}

void ProcessTransport::get(Purpose purpose, uint32_t from, uint32_t to, float* data, size_t count) {
  if (has(from)) return mailbox(purpose, from, to).receive(data, count);
  for_messages(count, [&](size_t begin, size_t length) {
    processes_->receive(from / local_, tag(purpose, from, to), data + begin,
                        length * sizeof(float));
  });
}

// The messages say all that the members must know of each other's progress.
void ProcessTransport::begin(uint32_t, float const*, float*, size_t) {}
void ProcessTransport::finish_piece(uint32_t) {}
void ProcessTransport::end(uint32_t, Readers) {}

void ProcessTransport::give(uint32_t rank, uint32_t to, float const* data, size_t count) {
  put(Purpose::kCollective, rank, to, data, count);
}

float const* ProcessTransport::take(uint32_t rank, Origin const& from, size_t count,
                                    float* landing) {
  STEPSCOPE_CHECK(landing != nullptr || count <= kPieceFloats);
  float* const to = landing != nullptr ? landing : pieces_[rank - first_].data();
  get(Purpose::kCollective, from.member, rank, to, count);
  return to;
}

float* ProcessTransport::writable(Origin const&) {
  STEPSCOPE_CHECK(false);  // no memory is shared
  return nullptr;
}

void ProcessTransport::send(uint32_t rank, uint32_t to, float const* data, size_t count) {
  put(Purpose::kMessage, rank, to, data, count);
}

void ProcessTransport::receive(uint32_t rank, uint32_t from, float* data, size_t count) {
  get(Purpose::kMessage, from, rank, data, count);
}

}  // namespace stepscope::workloads::host
