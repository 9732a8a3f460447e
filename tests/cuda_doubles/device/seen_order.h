// What the thread sanitizer sees of the doubles. Work of two streams is ordered by events, by
// synchronisation and by the host. The locks and counters of a double order it, too, where the real
// library promises nothing: a wait that the program lacks would stay unseen. So the driver's double
// hides what it does itself and says the order that CUDA documents. Elsewhere than in a build with
// that sanitizer all of this is empty.
#pragma once

#include <mutex>
#include <utility>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace stepscope::cuda_doubles {

#ifdef __SANITIZE_THREAD__

namespace seen_order {

inline thread_local int hidden = 0;  // scopes around this one that hide

// A pair that makes the sanitizer ignore all accesses and all synchronisation of the thread.
inline void hide() { __tsan_mutex_pre_signal(nullptr, 0); }
inline void show() { __tsan_mutex_post_signal(nullptr, 0); }

}  // namespace seen_order

/// Accesses and locks of this thread are unseen.
class HiddenScope {
 public:
  HiddenScope() {
    if (seen_order::hidden++ == 0) seen_order::hide();
  }
  ~HiddenScope() {
    if (--seen_order::hidden == 0) seen_order::show();
  }
  HiddenScope(HiddenScope const&) = delete;
  HiddenScope& operator=(HiddenScope const&) = delete;
};

/// They are seen again: the program's own code runs here.
class SeenScope {
 public:
  SeenScope() : hidden_(std::exchange(seen_order::hidden, 0)) {
    if (hidden_ > 0) seen_order::show();
  }
  ~SeenScope() {
    if (hidden_ > 0) seen_order::hide();
    seen_order::hidden = hidden_;
  }
  SeenScope(SeenScope const&) = delete;
  SeenScope& operator=(SeenScope const&) = delete;

 private:
  int hidden_;
};

/// What this thread did so far comes before what follows each later happens_after() of that place.
inline void happens_before(void* place) {
  SeenScope const seen;
  __tsan_release(place);
}
inline void happens_after(void* place) {
  SeenScope const seen;
  __tsan_acquire(place);
}

#else

struct HiddenScope {
  HiddenScope() {}  // NOLINT(modernize-use-equals-default): else a scope is an unused variable
};
struct SeenScope {
  SeenScope() {}  // NOLINT(modernize-use-equals-default)
};
inline void happens_before(void* /*place*/) {}
inline void happens_after(void* /*place*/) {}

#endif

/// A lock that orders nothing for the sanitizer; what is accessed under it is unseen.
class HiddenLock {
 public:
  explicit HiddenLock(std::mutex& mutex) : lock_(mutex) {}

 private:
  HiddenScope hidden_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace stepscope::cuda_doubles
