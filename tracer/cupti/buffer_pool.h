// The buffers that CUPTI fills: a fixed number of one size, asked for and given back on the program's threads, emptied by the
// writer thread. No more memory than was granted is ever taken.
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

  // On any thread; they allocate nothing but a buffer.
  /// An empty buffer, all zero; null when all are in use, the pool is closed or the system has no memory.
  uint8_t* request() noexcept;
  /// CUPTI gives a buffer back: the first `valid_bytes` are records.
  void complete(uint8_t* buffer, size_t valid_bytes) noexcept;

  // On the writer thread.
  /// What was completed since the last call, oldest first.
  std::vector<std::span<uint8_t>> take_completed();
  /// A buffer of take_completed() can be used again.
  void give_back(std::span<uint8_t> records);
  /// Has a few empty buffers ready, so that a thread of the program which asks for one takes no page faults.
  void prepare();
  /// No buffer is given out any more, and memory goes back to the system: now what is empty, then what is completed. Buffers that
  /// CUPTI still holds, too, when it `let_go` of them.
  void close(bool let_go);

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Completed {
    uint8_t* buffer;
    size_t valid_bytes;
  };
  uint8_t* map_buffer(bool populate) const;
  void unmap(uint8_t* buffer);

  size_t const buffer_bytes_, max_buffers_;
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::vector<uint8_t*> mapped_;  ///< all that there are
  std::vector<uint8_t*> empty_;   ///< the last used first: it is in the cache
  std::vector<Completed> completed_;
};

}  // namespace stepscope::tracer
