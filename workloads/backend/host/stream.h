// An in-order stream of a host device: one thread that runs what was pushed, in order. Events order
// streams among each other and the host.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tracer/api/device_events.h"
#include "workloads/backend/backend.h"

namespace stepscope::workloads::host {

class HostEvent final : public EventState {
 public:
  HostEvent(uint32_t device, api::StreamKind stream) : device_(device), stream_(stream) {}
  void set() {
    reached_ns_ = std::chrono::steady_clock::now().time_since_epoch().count();
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }
  [[nodiscard]] int64_t reached_ns() const override { return reached_ns_; }
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire) != 0; }
  void wait() const { done_.wait(0, std::memory_order_acquire); }
  [[nodiscard]] uint32_t device() const { return device_; }
  [[nodiscard]] api::StreamKind stream() const { return stream_; }

 private:
  int64_t reached_ns_ = 0;     // written before done_
  std::atomic<int> done_ = 0;  // int: waits on a futex directly
  uint32_t device_;
  api::StreamKind stream_;
};

/// A number for a launch that no other launch of this process has, > 0.
uint64_t next_correlation();

class HostStream {
 public:
  /// `threads` = OpenMP threads that work on the stream may use; `cores`: where they run, empty =
  /// anywhere.
  HostStream(uint32_t device, std::string const& device_name, api::StreamKind kind, int threads,
             std::vector<int> const& cores = {});
  ~HostStream();  ///< finishes what was pushed
  HostStream(HostStream const&) = delete;
  HostStream& operator=(HostStream const&) = delete;

  [[nodiscard]] uint32_t id() const { return static_cast<uint32_t>(kind_); }
  void push(std::function<void()> task);
  std::shared_ptr<HostEvent> record();
  /// Holds the stream until `event` is reached; reported as a stream wait only when it had to wait.
  void wait(std::shared_ptr<HostEvent> event);

 private:
  void run(std::string const& thread_name, int threads, std::vector<int> const& cores);

  uint32_t device_;
  api::StreamKind kind_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::thread thread_;
};

/// "compute", "copy", "communication"
char const* stream_name(api::StreamKind kind);

}  // namespace stepscope::workloads::host
