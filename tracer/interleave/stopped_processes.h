// Lets stopped processes go on when the command is gone. The command alone knows whom it has
// stopped, and it may be killed at any moment: a process of its own watches it, and continues what
// is stopped then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "tracer/core/sockets/file_descriptor.h"

namespace stepscope::tracer {

class StoppedProcesses {
 public:
  /// In memory that the watching process shares. One thread writes.
  class List {
   public:
    /// Call it before the signal that stops the process. Negative = a process group, as for
    /// kill(). More than kMost are not kept.
    void add(pid_t process) {
      uint32_t const at = count_.load(std::memory_order_relaxed);
      if (at == kMost) return;
      processes_[at].store(process, std::memory_order_relaxed);
      count_.store(at + 1, std::memory_order_release);
    }
    /// Call it after they went on.
    void clear() { count_.store(0, std::memory_order_release); }
    void let_go_on() const;

   private:
    static constexpr size_t kMost = 16'384;
    std::atomic<uint32_t> count_{0};
    std::array<std::atomic<pid_t>, kMost> processes_{};
  };

  /// Starts the watching process, if the system gives one. Call it before this process has other
  /// threads.
  StoppedProcesses();
  /// Ends the watching process.
  ~StoppedProcesses();
  StoppedProcesses(StoppedProcesses const&) = delete;
  StoppedProcesses& operator=(StoppedProcesses const&) = delete;

  /// The list of one of the two programs.
  [[nodiscard]] List& of(size_t program) { return (*lists_)[program]; }

 private:
  using Lists = std::array<List, 2>;

  Lists* lists_;
  bool is_shared_;
  FileDescriptor alive_;  ///< closed when this process is gone
  pid_t watching_ = -1;
};

}  // namespace stepscope::tracer
