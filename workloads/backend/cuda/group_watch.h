// Watches a group of devices of several processes while their host threads wait for GPUs. A
// collective whose other members are gone never ends by itself, and no message wakes the thread
// that waits for it. Something is wrong when a process is gone or gives up, when NCCL says so, or
// when a thread has waited for longer than processes may be silent.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace stepscope::workloads::cuda {

class GroupWatch {
 public:
  struct Settings {
    uint32_t devices = 1;                              ///< of this process
    std::chrono::milliseconds timeout{0};              ///< of a wait
    std::function<std::optional<std::string>()> look;  ///< what else is wrong; called often
    /// NCCL's own error, if any. A process that ends breaks NCCL's connections first, and NCCL
    /// cannot tell which one it was: `look` has `time_to_name` to name it.
    std::function<std::optional<std::string>()> look_at_nccl = {};
    std::chrono::milliseconds time_to_name{1'000};
    std::function<void(std::string const& why)> on_fault;  ///< called once, on the watch's thread
  };
  explicit GroupWatch(Settings settings);
  ~GroupWatch();
  GroupWatch(GroupWatch const&) = delete;
  GroupWatch& operator=(GroupWatch const&) = delete;

  /// While it lives, device `device`'s host thread waits for its GPU. A null watch looks after
  /// no device.
  class Waiting {
   public:
    Waiting(GroupWatch* watch, uint32_t device);
    ~Waiting();
    Waiting(Waiting const&) = delete;
    Waiting& operator=(Waiting const&) = delete;

   private:
    std::atomic<int64_t>* since_ = nullptr;
  };

 private:
  [[nodiscard]] std::optional<std::string> fault();
  void run();

  Settings settings_;
  std::unique_ptr<std::atomic<int64_t>[]>
      waiting_since_;              ///< by device, ns of the steady clock; 0 = it does not wait
  int64_t nccl_broken_since_ = 0;  ///< the watch thread's own; ns as above, 0 = it is not broken
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace stepscope::workloads::cuda
