// One thread's events on their way to the writer thread: a ring of 8-byte words, one producer, one consumer, no lock. Records are
// contiguous; the rest of the ring before its end is filled with padding when a record does not fit there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope::tracer {

/// Records begin with this word; `words` counts it. Other formats of records may have bit 7 of `type` set.
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

  /// `bytes` is a power of two ≥ kMinBytes, or 0: a ring that has no room. valid() is false for that and when the memory cannot
  /// be had.
  explicit Ring(size_t bytes);
  ~Ring();
  Ring(Ring const&) = delete;
  Ring& operator=(Ring const&) = delete;

  [[nodiscard]] bool valid() const { return words_ != nullptr; }
  [[nodiscard]] size_t bytes() const { return capacity_ * sizeof(uint64_t); }
  [[nodiscard]] uint64_t capacity_words() const { return capacity_; }

  // Producer. try_reserve() gives room for `count` words when `keep_free` further ones stay free, else nullptr; commit() makes
  // the words visible to the consumer.
  [[nodiscard]] uint64_t* try_reserve(uint32_t count, uint64_t keep_free) {
    uint64_t const position = head_local_ & mask_;
    uint64_t const to_end = capacity_ - position;
    uint64_t const padding = count > to_end ? to_end : 0;
    uint64_t const needed = head_local_ + padding + count + keep_free;
    if (needed - tail_cached_ > capacity_) [[unlikely]] {
      tail_cached_ = tail_.load(std::memory_order_acquire);
      if (needed - tail_cached_ > capacity_) return nullptr;
    }
    if (padding != 0) [[unlikely]] {
      write_padding(position, padding);
      head_local_ += padding;
      return words_;
    }
    return words_ + position;
  }
  void commit(uint32_t count) {
    head_local_ += count;
    head_.store(head_local_, std::memory_order_release);
  }

  // Consumer: everything before head() may be read with at(), then handed back with release(). Positions count words for ever.
  [[nodiscard]] uint64_t head() const { return head_.load(std::memory_order_acquire); }
  [[nodiscard]] uint64_t tail() const { return tail_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t const* at(uint64_t position) const { return words_ + (position & mask_); }
  /// Words from there to the end of the ring: records never go on at its begin.
  [[nodiscard]] uint64_t words_to_end(uint64_t position) const { return capacity_ - (position & mask_); }
  void release(uint64_t position) { tail_.store(position, std::memory_order_release); }
  /// Makes the system hand out the pages of the next `bytes` after the head, so that the producer takes no page fault there.
  /// Costs nothing once the ring has been written through.
  void prefault(size_t bytes);
  /// Gives the memory back while the addresses stay valid: a producer may still be inside a write.
  void discard_memory();

 private:
  void write_padding(uint64_t position, uint64_t count);

  static constexpr size_t kCacheLine = 64;
  uint64_t* words_ = nullptr;
  uint64_t capacity_ = 0, mask_ = 0;
  // The producer's line: it reads the consumer's only when the ring looks full.
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};
  uint64_t head_local_ = 0;
  uint64_t tail_cached_ = 0;
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};
  uint64_t prefaulted_ = 0;  ///< words from the begin whose pages are there
};

}  // namespace stepscope::tracer
