#include "tracer/cupti/buffer_pool.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <sys/mman.h>

namespace stepscope::tracer {
namespace {

/// A launching thread fills a buffer of 256 KB in a millisecond at worst; the writer comes by every five.
constexpr size_t kReady = 4;

}  // namespace

BufferPool::BufferPool(size_t total_bytes, size_t buffer_bytes)
    : buffer_bytes_(buffer_bytes), max_buffers_(std::max<size_t>(2, total_bytes / buffer_bytes)) {
  // So that nothing is allocated on the program's threads.
  mapped_.reserve(max_buffers_);
  empty_.reserve(max_buffers_);
  completed_.reserve(max_buffers_);
}

BufferPool::~BufferPool() { close(true); }

size_t BufferPool::mapped_bytes() const {
  std::lock_guard const lock(mutex_);
  return mapped_.size() * buffer_bytes_;
}

uint8_t* BufferPool::map_buffer(bool populate) const {
  void* const memory =
      ::mmap(nullptr, buffer_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (populate ? MAP_POPULATE : 0), -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

void BufferPool::unmap(uint8_t* buffer) {
  std::erase(mapped_, buffer);
  ::munmap(buffer, buffer_bytes_);
}

uint8_t* BufferPool::request() noexcept {
  std::lock_guard const lock(mutex_);
  if (closed_) return nullptr;
  if (!empty_.empty()) {
    uint8_t* const buffer = empty_.back();
    empty_.pop_back();
    return buffer;
  }
  if (mapped_.size() == max_buffers_) return nullptr;
  uint8_t* const buffer = map_buffer(false);
  if (buffer != nullptr) mapped_.push_back(buffer);
  return buffer;
}

void BufferPool::complete(uint8_t* buffer, size_t valid_bytes) noexcept {
  std::lock_guard const lock(mutex_);
  if (std::find(mapped_.begin(), mapped_.end(), buffer) == mapped_.end()) return;  // none of ours, or no more
  if (closed_)
    unmap(buffer);
  else
    completed_.push_back({buffer, std::min(valid_bytes, buffer_bytes_)});
}

std::vector<std::span<uint8_t>> BufferPool::take_completed() {
  std::vector<std::span<uint8_t>> result;
  std::lock_guard const lock(mutex_);
  result.reserve(completed_.size());
  for (Completed const& completed : completed_) result.emplace_back(completed.buffer, completed.valid_bytes);
  completed_.clear();
  return result;
}

void BufferPool::give_back(std::span<uint8_t> records) {
  // CUPTI is told that it gets zeroed buffers: else it would do this on a thread of the program.
  std::memset(records.data(), 0, buffer_bytes_);
  std::lock_guard const lock(mutex_);
  if (closed_)
    unmap(records.data());
  else
    empty_.push_back(records.data());
}

void BufferPool::prepare() {
  for (;;) {
    {
      std::lock_guard const lock(mutex_);
      if (closed_ || empty_.size() >= kReady || mapped_.size() == max_buffers_) return;
    }
    uint8_t* const buffer = map_buffer(true);
    if (buffer == nullptr) return;
    std::lock_guard const lock(mutex_);
    if (mapped_.size() == max_buffers_) {  // a thread was faster
      ::munmap(buffer, buffer_bytes_);
      return;
    }
    mapped_.push_back(buffer);
    empty_.push_back(buffer);
  }
}

void BufferPool::close(bool let_go) {
  std::lock_guard const lock(mutex_);
  closed_ = true;
  for (uint8_t* const buffer : std::exchange(empty_, {})) unmap(buffer);
  for (Completed const& completed : std::exchange(completed_, {})) unmap(completed.buffer);
  if (!let_go) return;
  for (uint8_t* const buffer : std::exchange(mapped_, {})) ::munmap(buffer, buffer_bytes_);
}

}  // namespace stepscope::tracer
