#include "trace/base/malloc_tuning.h"

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <sys/resource.h>

#include "trace/base/huge_pages.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Sanitizers bring an allocator of their own, which marks each block that it gives.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STEPSCOPE_HAS_GLIBC_HEAP 1
#endif

namespace stepscope::base {
namespace {

#ifdef STEPSCOPE_HAS_GLIBC_HEAP
/// Below the threshold above which the library maps blocks of their own, and below the size of free
/// memory at its end that it returns whatever the threshold (2 GiB).
constexpr size_t kHeapBytes = (size_t{1} << 30) - (size_t{1} << 20);

/// Whether address space that is never touched is free.
bool is_address_space_free() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;

  constexpr int kStrict = 2;  // the kernel counts it as used (Linux, vm.overcommit_memory)
  int mode = kStrict;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  return mode != kStrict;
}

/// The library has no setting for huge pages but an environment variable that it reads before
/// main(). A block that is freed at once stays at the end of its heap, together with the advice.
void ask_for_a_heap_in_huge_pages() {
  if (!is_address_space_free()) return;
  void* const block = std::malloc(kHeapBytes);
  if (block == nullptr) return;
  ask_for_huge_pages(block, kHeapBytes);
  std::free(block);
}
#endif

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  // Both also end the library's own adapting of the thresholds.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // In the arenas that threads get besides the main one, the library returns every empty heap,
  // whatever the threshold.
  ::mallopt(M_ARENA_MAX, 1);
#endif

#ifdef STEPSCOPE_HAS_GLIBC_HEAP
  static bool const has_asked = (ask_for_a_heap_in_huge_pages(), true);
  static_cast<void>(has_asked);
#endif
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace stepscope::base
