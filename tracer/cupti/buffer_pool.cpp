#include "tracer/cupti/buffer_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/mman.h>

namespace stepscope::tracer {
namespace {

/// A launching thread fills a buffer of 256 KB in a millisecond at worst; the writer comes by every
/// five.
constexpr size_t kReady = 4;

uint8_t* map(size_t bytes, bool populate) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | (populate ? MAP_POPULATE : 0), -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

bool contains(std::vector<uint8_t*> const& buffers, uint8_t* buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

}  // namespace

BufferPool::BufferPool(size_t total_bytes, size_t buffer_bytes)
    : buffer_bytes_(buffer_bytes), max_buffers_(std::max<size_t>(2, total_bytes / buffer_bytes)) {}

/// So that nothing is allocated on the program's threads later.
void BufferPool::reserve_lists() {
  std::lock_guard const lock(mutex_);
  mapped_.reserve(max_buffers_);
  empty_.reserve(max_buffers_);
  completed_.reserve(max_buffers_);
  taken_.reserve(max_buffers_);
}

BufferPool::~BufferPool() {
  writer_leaves();
  cupti_leaves();
}

size_t BufferPool::mapped_bytes() const {
  std::lock_guard const lock(mutex_);
  return (mapped_.size() + taken_.size()) * buffer_bytes_ + overflow_count_ * kOverflowBytes;
}

bool BufferPool::closed() const {
  std::lock_guard const lock(mutex_);
  return writer_is_out_ || cupti_is_out_;
}

/// Nothing that is not ours any more is touched: its place may be the program's by now.
void BufferPool::unmap(uint8_t* buffer) {
  if (std::erase(mapped_, buffer) == 1) ::munmap(buffer, buffer_bytes_);
}

std::span<uint8_t> BufferPool::request() noexcept try {
  std::lock_guard const lock(mutex_);
  bool const is_closed = writer_is_out_ || cupti_is_out_;

  if (!is_closed && !empty_.empty()) {
    uint8_t* const buffer = empty_.back();
    empty_.pop_back();
    return {buffer, buffer_bytes_};
  }

  if (!is_closed && mapped_.size() + taken_.size() < max_buffers_) {
    if (uint8_t* const buffer = map(buffer_bytes_, false); buffer != nullptr) {
      mapped_.push_back(buffer);
      return {buffer, buffer_bytes_};
    }
  }

  if (!is_closed) refused_.fetch_add(1, std::memory_order_relaxed);
  return never_refuses_ ? request_overflow() : std::span<uint8_t>();
} catch (...) {
  return {};  // no memory for the list of overflow buffers
}

/// Under mutex_.
std::span<uint8_t> BufferPool::request_overflow() {
  if (!spare_overflow_.empty()) {
    uint8_t* const buffer = spare_overflow_.back();
    spare_overflow_.pop_back();
    return {buffer, kOverflowBytes};
  }

  overflow_.reserve(overflow_count_ + 1);
  spare_overflow_.reserve(overflow_count_ + 1);
  uint8_t* const buffer = map(kOverflowBytes, false);
  if (buffer == nullptr) return {};

  ++overflow_count_;
  overflow_.push_back(buffer);
  return {buffer, kOverflowBytes};
}

std::span<uint8_t> BufferPool::complete(uint8_t* buffer, size_t valid_bytes) noexcept {
  std::lock_guard const lock(mutex_);
  if (std::erase(overflow_, buffer) == 1) return {buffer, std::min(valid_bytes, kOverflowBytes)};
  if (!contains(mapped_, buffer)) return {};  // none of ours, or no more
  if (writer_is_out_)
    unmap(buffer);
  else
    completed_.push_back({buffer, std::min(valid_bytes, buffer_bytes_)});
  return {};
}

void BufferPool::reuse(std::span<uint8_t> overflow_records) noexcept {
  uint8_t* const buffer = overflow_records.data();
  std::memset(buffer, 0,
              kOverflowBytes);  // what CUPTI may have written behind the last whole record, too

  std::lock_guard const lock(mutex_);
  if (writer_is_out_ || cupti_is_out_) {
    ::munmap(buffer, kOverflowBytes);
    --overflow_count_;
    return;
  }

  overflow_.push_back(buffer);
  spare_overflow_.push_back(buffer);
}

std::vector<std::span<uint8_t>> BufferPool::take_completed() {
  std::vector<std::span<uint8_t>> result;
  std::lock_guard const lock(mutex_);
  result.reserve(completed_.size());

  for (Completed const& completed : completed_) {
    result.emplace_back(completed.buffer, completed.valid_bytes);
    std::erase(mapped_, completed.buffer);
    taken_.push_back(completed.buffer);
  }

  completed_.clear();
  return result;
}

void BufferPool::give_back(std::span<uint8_t> records) {
  uint8_t* const buffer = records.data();
  {
    std::lock_guard const lock(mutex_);
    if (!contains(taken_, buffer)) return;
  }

  // CUPTI relies on zeroed buffers: else it would zero them on a thread of the program.
  // Only the writer changes taken_.
  std::memset(buffer, 0, buffer_bytes_);
  std::lock_guard const lock(mutex_);
  std::erase(taken_, buffer);

  if (writer_is_out_ || cupti_is_out_) {
    ::munmap(buffer, buffer_bytes_);
    return;
  }

  mapped_.push_back(buffer);
  empty_.push_back(buffer);
}

void BufferPool::prepare() {
  reserve_lists();
  for (;;) {
    {
      std::lock_guard const lock(mutex_);
      bool const has_enough =
          empty_.size() >= kReady || mapped_.size() + taken_.size() >= max_buffers_;
      if (writer_is_out_ || cupti_is_out_ || has_enough) return;
    }

    uint8_t* const buffer = map(buffer_bytes_, true);
    if (buffer == nullptr) return;
    std::lock_guard const lock(mutex_);
    // A thread was faster, or CUPTI has gone.
    if (cupti_is_out_ || mapped_.size() + taken_.size() >= max_buffers_) {
      ::munmap(buffer, buffer_bytes_);
      return;
    }
    mapped_.push_back(buffer);
    empty_.push_back(buffer);
  }
}

void BufferPool::unmap_overflow(uint8_t* buffer) {
  if (std::erase(overflow_, buffer) == 0) return;
  ::munmap(buffer, kOverflowBytes);
  --overflow_count_;
}

/// Under mutex_.
void BufferPool::unmap_what_nobody_holds() {
  for (uint8_t* const buffer : std::exchange(empty_, {})) unmap(buffer);
  if (!writer_is_out_) return;
  for (Completed const& completed : std::exchange(completed_, {})) unmap(completed.buffer);
  for (uint8_t* const buffer : std::exchange(taken_, {})) ::munmap(buffer, buffer_bytes_);
  for (uint8_t* const buffer : std::exchange(spare_overflow_, {})) unmap_overflow(buffer);
  if (!cupti_is_out_) return;
  for (uint8_t* const buffer : std::exchange(mapped_, {})) ::munmap(buffer, buffer_bytes_);
  for (uint8_t* const buffer : std::vector<uint8_t*>(overflow_)) unmap_overflow(buffer);
}

void BufferPool::writer_leaves() {
  std::lock_guard const lock(mutex_);
  writer_is_out_ = true;
  unmap_what_nobody_holds();
}

void BufferPool::cupti_leaves() {
  std::lock_guard const lock(mutex_);
  cupti_is_out_ = true;
  unmap_what_nobody_holds();
}

}  // namespace stepscope::tracer
