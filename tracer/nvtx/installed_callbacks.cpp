#include "tracer/nvtx/installed_callbacks.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include <link.h>

namespace stepscope::tracer {
namespace {

/// The writable memory of one loaded library or of the program.
bool holds(dl_phdr_info const& object, void const* address) {
  auto const at = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    ElfW(Phdr) const& segment = object.dlpi_phdr[i];
    uintptr_t const begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && at >= begin &&
        at + sizeof(void*) <= begin + segment.p_memsz)
      return true;
  }
  return false;
}

}  // namespace

void InstalledCallbacks::install(void** slot, void* callback) {
  std::lock_guard const lock(mutex_);
  installed_.push_back({slot, callback});
  std::atomic_ref(*slot).store(callback, std::memory_order_release);
}

/// While dl_iterate_phdr() calls back no library is unloaded: what it names can be written to.
size_t InstalledCallbacks::uninstall() {
  struct Work {
    std::vector<Installed> installed;
    size_t emptied = 0;
  };
  Work work;
  {
    std::lock_guard const lock(mutex_);
    work.installed = std::exchange(installed_, {});
  }

  auto const empty_slots = [](dl_phdr_info* object, size_t, void* argument) {
    auto& self = *static_cast<Work*>(argument);
    for (auto const& [slot, callback] : self.installed) {
      if (!holds(*object, slot)) continue;
      void* expected = callback;
      if (std::atomic_ref(*slot).compare_exchange_strong(expected, nullptr)) ++self.emptied;
    }
    return 0;
  };

  ::dl_iterate_phdr(empty_slots, &work);
  return work.emptied;
}

}  // namespace stepscope::tracer
