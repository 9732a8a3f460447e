#include "tracer/core/ring.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "trace/base/check.h"
#include "tracer/core/unforked_memory.h"

namespace stepscope::tracer {

namespace {

/// A ring that is so full where it would begin anew grows instead: its consumer may be kept from
/// its work for many times as long as it usually takes …
constexpr uint64_t kFullShare = 16;
/// … to so many times its memory, with at most one part in kBudgetParts of what all rings have
/// left.
constexpr size_t kGrowth = 4;
constexpr size_t kBudgetParts = 2;
/// A small ring grows in any case, as long as there is plenty: how full it is says little, it lasts
/// shorter than its consumer sleeps.
constexpr size_t kSmallBytes = 4 << 20;
constexpr size_t kPlentyParts = 64;

bool is_ring_size(size_t bytes) { return bytes >= Ring::kMinBytes && (bytes & (bytes - 1)) == 0; }

/// All of it is made usable at once: a ring that grows must make no system call, since a sandbox
/// may end a program that calls mprotect(). Null when the system refuses.
uint64_t* memory_for(size_t bytes) { return static_cast<uint64_t*>(map_unforked(bytes)); }

}  // namespace

Ring::Ring(size_t bytes, size_t max_bytes, RingBudget* budget) : budget_(budget) {
  if (bytes == 0) return;
  max_bytes = std::max(bytes, max_bytes);
  STEPSCOPE_CHECK(is_ring_size(bytes) && is_ring_size(max_bytes));

  words_ = memory_for(max_bytes);
  if (words_ == nullptr) {  // a limit of addresses (ulimit -v): without room to grow then
    max_bytes = bytes;
    words_ = memory_for(max_bytes);
  }
  if (words_ == nullptr) return;

  max_words_ = max_bytes / sizeof(uint64_t);
  mask_.store(bytes / sizeof(uint64_t) - 1, std::memory_order_relaxed);
  next_ = words_;
  fence_ = words_ + capacity_words();
}

bool Ring::addresses_cost_nothing() {
  constexpr size_t kMoreThanThereIs = size_t{1}
                                      << 42;  // 4 TB; sanitizers leave a program not many more
  uint64_t* const memory = memory_for(kMoreThanThereIs);
  if (memory == nullptr) return false;
  unmap_unforked(memory, kMoreThanThereIs);
  return true;
}

Ring::~Ring() { unmap_unforked(words_, max_bytes()); }

uint64_t* Ring::reserve_past_fence(uint32_t count, uint64_t keep_free) {
  if (words_ == nullptr) return nullptr;
  uint64_t offset = offset_of(head_.load(std::memory_order_relaxed));
  bool const is_past_end = offset + count > capacity_words();
  if (is_past_end && grow(offset)) return reserve_past_fence(count, keep_free);

  uint64_t const capacity = capacity_words();
  uint64_t const padding = is_past_end ? capacity - offset : 0;
  uint64_t const used =
      head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  if (used + padding + count + keep_free > capacity) return nullptr;

  if (padding != 0) {
    write_padding(offset, padding);
    commit(static_cast<uint32_t>(padding));
    offset = 0;
  }

  next_ = words_ + offset;
  fence_ = next_ + std::min(capacity - offset, capacity - used - padding);
  return next_;
}

bool Ring::grow(uint64_t offset) {
  // Everything unread must be of this lap: its place stays the same when the positions that follow
  // go on behind it.

  uint64_t const head = head_.load(std::memory_order_relaxed);
  uint64_t const tail = tail_.load(std::memory_order_acquire);
  uint64_t const lap = head - offset;
  if (tail < lap) return false;

  bool const is_full = head - tail >= capacity_words() / kFullShare;
  if (!is_full && capacity_bytes() >= kSmallBytes) return false;

  size_t const bytes = take_memory(capacity_bytes(), is_full ? kBudgetParts : kPlentyParts);
  if (bytes == 0) return false;

  base_.store(lap, std::memory_order_relaxed);
  mask_.store(bytes / sizeof(uint64_t) - 1, std::memory_order_release);
  return true;
}

/// What the ring may have instead of `now` bytes, for at most one part in `parts` of what is left;
/// 0 = nothing.
size_t Ring::take_memory(size_t now, size_t parts) {
  if (budget_ == nullptr) return 0;
  for (size_t wanted = std::min(now * kGrowth, max_bytes()); wanted > now; wanted /= 2) {
    if (budget_->take(wanted - now, parts)) return wanted;
  }
  return 0;
}

void Ring::write_padding(uint64_t offset, uint64_t count) {
  // count < kMaxRecordWords: only the rest that a record did not fit into.
  RecordHeader const header = {kPaddingRecord, 0, static_cast<uint16_t>(count), 0, 0};
  std::memcpy(words_ + offset, &header, sizeof header);
}

void Ring::prefault(size_t bytes) {
  uint64_t const capacity = capacity_words();
  if (words_ == nullptr || prefaulted_ == capacity) return;
  constexpr uint64_t kStepWords = 128 * 1024 / sizeof(uint64_t);  // page aligned, few system calls

  uint64_t const wanted = std::min(capacity, offset_of(head()) + bytes / sizeof(uint64_t));
  while (prefaulted_ < wanted) {
    uint64_t const words = std::min(kStepWords, capacity - prefaulted_);
#ifdef MADV_POPULATE_WRITE
    // Kernels before 5.14 refuse: then the producer's first writes take the faults.
    ::madvise(words_ + prefaulted_, words * sizeof(uint64_t), MADV_POPULATE_WRITE);
#endif
    prefaulted_ += words;
  }
}

void Ring::discard_memory() {
  if (words_ != nullptr) ::madvise(words_, capacity_bytes(), MADV_DONTNEED);
}

}  // namespace stepscope::tracer
