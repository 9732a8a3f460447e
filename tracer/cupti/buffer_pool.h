// The buffers that CUPTI fills: a fixed number of one size, asked for and given back on the
// program's threads, emptied by the writer thread. No more memory than was granted is taken, but
// for small overflow buffers with a CUPTI that cannot do without one: what is written into those is
// counted and lost.
//
// Memory is unmapped only where neither CUPTI nor the writer can hold it any more; who of the two
// leaves last frees the rest.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace stepscope::tracer {

class BufferPool {
 public:
  /// At least two buffers: one is filled while the other is emptied.
  BufferPool(size_t total_bytes, size_t buffer_bytes);
  ~BufferPool();
  BufferPool(BufferPool const&) = delete;
  BufferPool& operator=(BufferPool const&) = delete;

  [[nodiscard]] size_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] size_t max_buffers() const { return max_buffers_; }
  /// Memory that is mapped now.
  [[nodiscard]] size_t mapped_bytes() const;
  /// Requests for which there was no buffer, while there was anything to record.
  [[nodiscard]] uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

  /// Before the first request: where there is none, request() gives an overflow buffer.
  void never_refuse() { never_refuses_ = true; }

  // On any thread; after the first prepare() they allocate nothing but a buffer.
  /// An empty buffer, all zero; an empty span when all are in use, the pool is closed or the system
  /// has no memory.
  std::span<uint8_t> request() noexcept;
  /// CUPTI gives a buffer back: the first `valid_bytes` are records. What is returned is of an
  /// overflow buffer, and no thread reads it: count it, then give it to reuse().
  [[nodiscard]] std::span<uint8_t> complete(uint8_t* buffer, size_t valid_bytes) noexcept;
  void reuse(std::span<uint8_t> overflow_records) noexcept;
  [[nodiscard]] bool closed() const;

  // On the writer thread.
  /// What was completed since the last call, oldest first. The writer's until it gives it back.
  std::vector<std::span<uint8_t>> take_completed();
  /// A buffer of take_completed() can be used again.
  void give_back(std::span<uint8_t> records);
  /// Has a few empty buffers ready, so that a thread of the program which asks for one takes no
  /// page faults. First called where CUPTI begins: most processes that are forked never use CUDA.
  void prepare();

  // The end, in either order. No buffer of the pool's memory is given out after the first of them.
  /// The writer reads no buffer any more.
  void writer_leaves();
  /// CUPTI holds no buffer any more.
  void cupti_leaves();

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  /// Some 60 launches.
  static constexpr size_t kOverflowBytes = 16 << 10;
  struct Completed {
    uint8_t* buffer;
    size_t valid_bytes;
  };
  std::span<uint8_t> request_overflow();
  void reserve_lists();
  void unmap(uint8_t* buffer);
  void unmap_overflow(uint8_t* buffer);
  void unmap_what_nobody_holds();

  size_t const buffer_bytes_, max_buffers_;
  bool never_refuses_ = false;
  std::atomic<uint64_t> refused_{0};
  mutable std::mutex mutex_;
  bool writer_is_out_ = false, cupti_is_out_ = false;
  std::vector<uint8_t*> mapped_;  ///< all but the writer's
  std::vector<uint8_t*> taken_;   ///< the writer's
  std::vector<uint8_t*> empty_;   ///< the last used first: it is in the cache
  std::vector<Completed> completed_;
  std::vector<uint8_t*> overflow_,
      spare_overflow_;         ///< all but those that are being counted; unused ones
  size_t overflow_count_ = 0;  ///< of all
};

}  // namespace stepscope::tracer
