#include "tracer/core/ring.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>

#include "trace/base/check.h"

namespace stepscope::tracer {

namespace {

bool is_ring_size(size_t bytes) { return bytes >= Ring::kMinBytes && (bytes & (bytes - 1)) == 0; }

}  // namespace

Ring::Ring(size_t bytes, size_t max_bytes) {
  if (bytes == 0) return;
  max_bytes = std::max(bytes, max_bytes);
  STEPSCOPE_CHECK(is_ring_size(bytes) && is_ring_size(max_bytes));
  // Addresses only, which cost nothing; fresh pages are given on first touch.
  void* const memory = ::mmap(nullptr, max_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  words_ = static_cast<uint64_t*>(memory);
  max_words_ = max_bytes / sizeof(uint64_t);
  if (grant(bytes)) {
    mask_.store(bytes / sizeof(uint64_t) - 1, std::memory_order_relaxed);
    next_ = words_;
    fence_ = words_ + capacity_words();
    return;
  }
  ::munmap(words_, max_bytes);
  words_ = nullptr;
}

Ring::~Ring() {
  if (words_ != nullptr) ::munmap(words_, max_bytes());
}

bool Ring::grant(size_t bytes) {
  STEPSCOPE_CHECK(is_ring_size(bytes) && bytes <= max_bytes());
  if (::mprotect(words_, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  granted_.store(bytes / sizeof(uint64_t), std::memory_order_release);
  return true;
}

uint64_t* Ring::reserve_past_fence(uint32_t count, uint64_t keep_free) {
  if (words_ == nullptr) return nullptr;
  uint64_t offset = offset_of(head_.load(std::memory_order_relaxed));
  bool const is_past_end = offset + count > capacity_words();
  if (is_past_end && grow(offset)) return reserve_past_fence(count, keep_free);
  uint64_t const capacity = capacity_words();
  uint64_t const padding = is_past_end ? capacity - offset : 0;
  uint64_t const used = head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
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
  uint64_t const granted = granted_.load(std::memory_order_acquire);
  if (granted <= capacity_words()) return false;
  // Everything unread must be of this lap: its place stays the same when the positions that follow go on behind it.
  uint64_t const lap = head_.load(std::memory_order_relaxed) - offset;
  if (tail_.load(std::memory_order_acquire) < lap) return false;
  base_.store(lap, std::memory_order_relaxed);
  mask_.store(granted - 1, std::memory_order_release);
  return true;
}

void Ring::write_padding(uint64_t offset, uint64_t count) {
  // count < kMaxRecordWords: only the rest that a record did not fit into.
  RecordHeader const header = {kPaddingRecord, 0, static_cast<uint16_t>(count), 0, 0};
  std::memcpy(words_ + offset, &header, sizeof header);
}

void Ring::prefault(size_t bytes) {
  uint64_t const granted = granted_.load(std::memory_order_relaxed);
  if (prefaulted_ == granted) return;
  constexpr uint64_t kStepWords = 128 * 1024 / sizeof(uint64_t);  // page aligned, few system calls
  uint64_t const wanted = std::min(granted, offset_of(head()) + bytes / sizeof(uint64_t));
  while (prefaulted_ < wanted) {
    uint64_t const words = std::min(kStepWords, granted - prefaulted_);
#ifdef MADV_POPULATE_WRITE
    // Kernels before 5.14 refuse: then the producer's first writes take the faults.
    ::madvise(words_ + prefaulted_, words * sizeof(uint64_t), MADV_POPULATE_WRITE);
#endif
    prefaulted_ += words;
  }
}

void Ring::discard_memory() {
  if (words_ != nullptr) ::madvise(words_, granted_bytes(), MADV_DONTNEED);
}

}  // namespace stepscope::tracer
