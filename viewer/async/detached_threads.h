// Threads that no caller waits for any more. At the end of the program it must not destroy its
// globals while they still run.
#pragma once

#include <atomic>

namespace stepscope::viewer {

/// Lives as long as a detached thread works.
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
