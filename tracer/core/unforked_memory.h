// Memory of the tracer that fork() does not copy. A child finds zeros there, and takes pages only
// where it writes.
//
// Why: fork() copies an entry of the page tables for each page in use, and the child's end gives
// each one back. The parent's next write to each page is a fault, which a fork at that moment waits
// for. A writer under load had 23 MB of such pages. No child looks at a session of its parent, so
// nothing is missed.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/base/scratch.h"

namespace stepscope::tracer {

/// Addresses that can be written to, whole pages of zeros that are given on first touch. Core dumps
/// leave them out. Null when the system refuses. Takes nothing from the heap.
void* map_unforked(size_t bytes);
/// `bytes` as they were mapped; nothing for null.
void unmap_unforked(void* memory, size_t bytes);

/// Blocks of this size and more are mapped, so that each column of a full block of rows is; smaller
/// ones come from the heap. The C library maps blocks from twice this size on.
inline constexpr size_t kUnforkedFrom = 64 * 1024;
/// For containers. Their pages are there at once, because one call for all of them costs less than
/// a fault a page. Throws std::bad_alloc when there is no memory.
void* allocate_unforked(size_t bytes);
void free_unforked(void* memory, size_t bytes) noexcept;
inline constexpr base::BlockMemory kUnforkedBlocks = {allocate_unforked, free_unforked};

template <class T>
struct UnforkedAllocator {
  using value_type = T;

  UnforkedAllocator() = default;
  template <class U>
  UnforkedAllocator(UnforkedAllocator<U> const& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(size_t count) {
    return static_cast<T*>(allocate_unforked(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { free_unforked(memory, count * sizeof(T)); }
  bool operator==(UnforkedAllocator const& /*other*/) const = default;
};

/// A vector that a forked child must not use: its long blocks are zeros there.
template <class T>
using UnforkedColumn = std::vector<T, UnforkedAllocator<T>>;

}  // namespace stepscope::tracer
