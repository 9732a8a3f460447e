#include "trace/base/malloc_tuning.h"

#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace stepscope::base {

void keep_freed_memory() {
#ifdef __GLIBC__
  // Both also end the library's own adapting of the thresholds.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // In the arenas that threads get besides the main one, the library returns every empty heap,
  // whatever the threshold.
  ::mallopt(M_ARENA_MAX, 1);
#endif
}

void give_back_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace stepscope::base
