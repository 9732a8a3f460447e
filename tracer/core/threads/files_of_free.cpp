#include "tracer/core/threads/files_of_free.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>

namespace stepscope::tracer {
namespace {

constexpr size_t kPage = 4096;
/// Below what glibc takes from the system for itself (M_MMAP_THRESHOLD, 128 KB and more).
constexpr size_t kPieceBytes = 96 << 10;
/// More than the limit above which free() gives memory back. It is 128 KB, and twice the largest
/// block that the program has freed: 64 MB at most, which no heap of a thread exceeds.
constexpr std::array<size_t, 4> kPieces = {4, 32, 256, 512};

// Flags in the word before a block of glibc's.
constexpr size_t kIsMapped = 2, kIsOfOtherHeap = 4;

/// glibc's malloc() lies beside malloc_trim(), which other allocators and the sanitizers leave
/// alone. dladdr() takes a lock that the program may hold while it waits for us.
bool is_allocator_of_glibc() {
#ifdef __GLIBC__
  constexpr uintptr_t kFarthest = 128 << 10;
  auto const one = reinterpret_cast<uintptr_t>(&::malloc);
  auto const other = reinterpret_cast<uintptr_t>(&::malloc_trim);
  return std::max(one, other) - std::min(one, other) < kFarthest;
#else
  return false;
#endif
}

/// Whether the block is of a heap that belongs to other threads than the main one. False is the
/// answer for a block at the begin of a page, too: the word before it may be no memory.
bool is_of_thread_heap(void* block) {
  if (reinterpret_cast<uintptr_t>(block) % kPage == 0) return false;
  // The compiler takes the word before a block for none of ours.
  asm volatile("" : "+r"(block));
  size_t const flags = static_cast<size_t const*>(block)[-1];
  return (flags & kIsOfOtherHeap) != 0 && (flags & kIsMapped) == 0;
}

/// Whether the page's memory went back to the system.
bool is_given_back(void* block) {
  auto* const page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(block) / kPage * kPage);
  unsigned char is_resident = 0;
  return ::mincore(page, kPage, &is_resident) != 0 || (is_resident & 1) == 0;
}

/// Takes so many pieces and frees them, the last first. True when free() gave their memory back.
bool free_at_once(size_t pieces) {
  std::array<void*, kPieces.back()> taken{};
  size_t count = 0;
  for (; count < pieces; ++count) {
    taken[count] = std::malloc(kPieceBytes);
    if (taken[count] == nullptr) break;
    *static_cast<char volatile*>(taken[count]) = 0;
  }

  for (size_t i = count; i > 0; --i) std::free(taken[i - 1]);
  return count > 1 && is_given_back(taken[count / 2]);
}

}  // namespace

void read_files_of_free() {
  // glibc remembers, also in a forked child.
  static std::atomic<bool> is_read{false};
  if (is_read.load(std::memory_order_relaxed) || !is_allocator_of_glibc()) return;

  void* const block = std::malloc(kPieceBytes);
  bool const can_shrink = block != nullptr && is_of_thread_heap(block);
  std::free(block);
  if (!can_shrink) return;

  is_read.store(std::any_of(kPieces.begin(), kPieces.end(), free_at_once),
                std::memory_order_relaxed);
}

}  // namespace stepscope::tracer
