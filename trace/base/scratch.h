// Room for intermediate values, which a coder fills anew for each block. Its caller may choose
// where the memory comes from: a guest in another process has reasons not to use the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace stepscope::base {

/// Where blocks of memory come from, aligned for every basic type. `allocate` throws std::bad_alloc
/// where memory ends; `free` gets the size that was asked for.
struct BlockMemory {
  void* (*allocate)(size_t bytes);
  void (*free)(void* memory, size_t bytes) noexcept;
};

inline void* allocate_on_heap(size_t bytes) { return ::operator new(bytes); }
inline void free_on_heap(void* memory, size_t /*bytes*/) noexcept { ::operator delete(memory); }
inline constexpr BlockMemory kHeapBlocks = {allocate_on_heap, free_on_heap};

template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  /// `memory` must outlive it.
  explicit Scratch(BlockMemory const& memory = kHeapBlocks) : memory_(&memory) {}
  Scratch(Scratch&& other) noexcept : memory_(other.memory_) { swap(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    swap(other);
    return *this;
  }
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  ~Scratch() { free_all(); }

  /// Room for `count` values, uninitialised: write them before they are read. What the room before
  /// held is lost.
  [[nodiscard]] std::span<T> room(size_t count) {
    if (count > capacity_) grow(std::max(count, 2 * capacity_));
    return {values_, count};
  }

 private:
  void swap(Scratch& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(values_, other.values_);
    std::swap(capacity_, other.capacity_);
  }
  void free_all() noexcept {
    if (values_ != nullptr) memory_->free(values_, capacity_ * sizeof(T));
    values_ = nullptr;
    capacity_ = 0;
  }
  void grow(size_t capacity) {
    free_all();
    values_ = static_cast<T*>(memory_->allocate(capacity * sizeof(T)));
    capacity_ = capacity;
  }

  BlockMemory const* memory_;
  T* values_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace stepscope::base
