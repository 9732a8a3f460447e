// One thread's events on their way to the writer thread: a ring of 8-byte words, one producer, one
// consumer, no lock. Records are contiguous; the rest of the ring before its end is filled with
// padding when a record does not fit there.
//
// A ring begins small and grows in place. Where the producer would begin anew although the consumer
// is far behind, it takes more memory from the session's budget and continues behind the old end.
// So threads of few events hold little, and a burst may use what the others do not need at once,
// not only when the consumer comes by.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracer/core/ring_budget.h"

namespace stepscope::tracer {

/// Records begin with this word; `words` counts it. Other formats of records may have bit 7 of
/// `type` set.
struct RecordHeader {
  uint8_t type;   ///< RecordType of record_layout.h; 0 = padding
  uint8_t flags;  ///< kHas… of record_layout.h
  uint16_t words;
  uint16_t domain;
  uint16_t text_bytes;
};
static_assert(sizeof(RecordHeader) == sizeof(uint64_t));
inline constexpr uint8_t kPaddingRecord = 0;

class Ring {
 public:
  /// The largest record: what try_reserve() takes at most.
  static constexpr uint32_t kMaxRecordWords = 2048;
  /// The smallest ring: a few of the largest records.
  static constexpr size_t kMinBytes = 64 * 1024;

  /// A ring of `bytes`, with addresses for `max_bytes`: it grows up to them when `budget` has more.
  /// Both are powers of two ≥ kMinBytes. `bytes` 0: a ring that has no room. valid() is false for
  /// that and when the memory cannot be had. Safe in signal handlers: makes system calls, takes
  /// nothing from the heap.
  explicit Ring(size_t bytes, size_t max_bytes = 0, RingBudget* budget = nullptr);
  ~Ring();
  Ring(Ring const&) = delete;
  Ring& operator=(Ring const&) = delete;

  /// False where the system counts memory when it is given and not when it is used
  /// (vm.overcommit_memory 2, ulimit -v): rings must not be given more than they need there.
  static bool addresses_cost_nothing();

  [[nodiscard]] bool valid() const { return words_ != nullptr; }
  [[nodiscard]] uint64_t capacity_words() const {
    return mask_.load(std::memory_order_acquire) + 1;
  }
  [[nodiscard]] size_t capacity_bytes() const { return capacity_words() * sizeof(uint64_t); }
  [[nodiscard]] size_t max_bytes() const { return max_words_ * sizeof(uint64_t); }

  // Producer. try_reserve() gives room for `count` words when `keep_free` further ones stay free,
  // else nullptr; commit() makes the words visible to the consumer. What is reserved and not
  // committed is as if it had not been reserved.
  [[nodiscard]] uint64_t* try_reserve(uint32_t count, uint64_t keep_free) {
    if (next_ + count + keep_free <= fence_) [[likely]]
      return next_;
    return reserve_past_fence(count, keep_free);
  }
  void commit(uint32_t count) {
    next_ += count;
    head_.store(head_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // Consumer: everything before head() may be read with at(), then handed back with release().
  // Positions count words for ever.
  [[nodiscard]] uint64_t head() const { return head_.load(std::memory_order_acquire); }
  [[nodiscard]] uint64_t tail() const { return tail_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t const* at(uint64_t position) const { return words_ + offset_of(position); }
  /// Words from there to the end of the ring: records never go on at its begin.
  [[nodiscard]] uint64_t words_to_end(uint64_t position) const {
    uint64_t const offset = offset_of(position);
    return std::max(capacity_words(), offset + 1) - offset;
  }
  void release(uint64_t position) { tail_.store(position, std::memory_order_release); }
  /// Makes the system hand out the pages of the next `bytes` after the head, so that the producer
  /// takes no page fault there. Costs nothing once the ring has been written through.
  void prefault(size_t bytes);
  /// Gives the memory back while the addresses stay valid: a producer may still be inside a write.
  void discard_memory();

 private:
  uint64_t* reserve_past_fence(uint32_t count, uint64_t keep_free);
  bool grow(uint64_t offset);
  size_t take_memory(size_t now, size_t parts);
  void write_padding(uint64_t offset, uint64_t count);
  [[nodiscard]] uint64_t offset_of(uint64_t position) const {
    // In this order: a new mask comes with its base; an old one gives the same offset with either,
    // for every position that has not been released.
    uint64_t const mask = mask_.load(std::memory_order_acquire);
    return (position - base_.load(std::memory_order_relaxed)) & mask;
  }

  static constexpr size_t kCacheLine = 64;
  uint64_t* words_ = nullptr;
  uint64_t max_words_ = 0;
  RingBudget* budget_ = nullptr;
  // The producer's line: it reads the consumer's only where it reaches the fence. Only the producer
  // writes base_ and mask_.
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};
  uint64_t* next_ = nullptr;         ///< where head_ is
  uint64_t const* fence_ = nullptr;  ///< the words from next_ to here are free, as far as is known
  std::atomic<uint64_t> base_{0};    ///< a position that is at the begin of the memory
  std::atomic<uint64_t> mask_{0};    ///< capacity − 1
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};
  uint64_t prefaulted_ = 0;  ///< words from the begin whose pages are there
};

}  // namespace stepscope::tracer
