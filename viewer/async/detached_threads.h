// Threads that nobody waits for any more, at the end of the program: it must not take itself down
// around them.
#pragma once

#include <atomic>

namespace stepscope::viewer {

/// Lives as long as a thread is at work that was let go.
class DetachedThread {
 public:
  DetachedThread() { ++count(); }
  ~DetachedThread() { --count(); }
  DetachedThread(DetachedThread const&) = delete;
  DetachedThread& operator=(DetachedThread const&) = delete;
  [[nodiscard]] static bool any() { return count() > 0; }

 private:
  static std::atomic<int>& count() {
    static std::atomic<int> value = 0;
    return value;
  }
};

}  // namespace stepscope::viewer
