#include "tracer/core/unforked_memory.h"

#include <new>

#include <sys/mman.h>

namespace stepscope::tracer {

void* map_unforked(size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;

  ::munlock(memory, bytes);  // after mlockall(MCL_FUTURE) every page would be made now, and counted
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  ::madvise(memory, bytes, MADV_DONTDUMP);    // the program's core dump is what it is without us
  ::madvise(memory, bytes, MADV_WIPEONFORK);  // fork() copies none of it, and the program takes no
                                              // page fault for it later

  if (::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0) return memory;
  ::munmap(memory, bytes);
  return nullptr;
}

void unmap_unforked(void* memory, size_t bytes) {
  if (memory != nullptr) ::munmap(memory, bytes);
}

void* allocate_unforked(size_t bytes) {
  if (bytes < kUnforkedFrom) return ::operator new(bytes);
  void* const memory = map_unforked(bytes);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_POPULATE_WRITE
  // Kernels before 5.14 refuse: then the first writes take the faults.
  ::madvise(memory, bytes, MADV_POPULATE_WRITE);
#endif
  return memory;
}

void free_unforked(void* memory, size_t bytes) noexcept {
  if (bytes < kUnforkedFrom)
    ::operator delete(memory);
  else
    unmap_unforked(memory, bytes);
}

}  // namespace stepscope::tracer
