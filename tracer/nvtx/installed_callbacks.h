// Where NVTX was asked to call us, to take it back when the capture is over: a range then costs
// what it costs without a tool.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace stepscope::tracer {

/// Every library of a program that uses NVTX has slots of its own, which go when it is unloaded.
class InstalledCallbacks {
 public:
  /// Writes `callback` into the slot and remembers it. Thread-safe.
  void install(void** slot, void* callback);
  /// Empties the slots that still hold what was installed, but those of libraries that are gone.
  /// The program's threads may be calling through them. Returns how many.
  size_t uninstall();

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }

 private:
  struct Installed {
    void** slot;
    void* callback;
  };
  std::mutex mutex_;
  std::vector<Installed> installed_;
};

}  // namespace stepscope::tracer
