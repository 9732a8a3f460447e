#include "trace/base/huge_pages.h"

#include <cstdint>

#include <sys/mman.h>
#include <unistd.h>

namespace stepscope::base {
namespace {

/// The huge page of x86-64. Shorter ranges are left alone: a huge page would be mostly unused.
constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

void ask_for_huge_pages(void const* begin, size_t bytes) {
  if (bytes < 2 * kHugePageBytes) return;
  auto const page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t const first = (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  uintptr_t const last = (reinterpret_cast<uintptr_t>(begin) + bytes) / page * page;
  // Not an error when it fails: a kernel without huge pages gives small ones.
  static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
}

}  // namespace stepscope::base
