// The NVML source: counters of the GPUs that the process uses, every few milliseconds, from the
// moment on when the program starts CUDA. The command that records reads them, outside of the
// program (sampling_service.h says why); a thread of ours takes what it sends.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/device_registry.h"
#include "tracer/core/source.h"
#include "tracer/nvml/sampling_thread.h"

namespace stepscope::tracer::nvml {

class NvmlSource : public Source {
 public:
  /// How long the end of the capture waits for a driver that does not answer.
  static constexpr std::chrono::milliseconds kStopLimit{1'000};

  /// `service`: its address; empty = there is none. Window and devices outlive the source.
  NvmlSource(CaptureWindow& window, DeviceRegistry const& devices, std::chrono::milliseconds period,
             std::string service)
      : window_(window), devices_(devices), period_(period), service_(std::move(service)) {}
  ~NvmlSource() override { stop(); }

  void driver_starts() override;
  void program_exits() override;
  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override { return true; }
  void refresh(TraceStore& /*store*/) override {}
  [[nodiscard]] uint64_t dropped() const override { return 0; }
  [[nodiscard]] int64_t threads() const override;
  void release() override { stop(); }
  void lock_for_fork() override;
  void unlock_after_fork() override;

 private:
  void start_thread();
  /// Waits for the thread's end, kStopLimit at most, once.
  void stop();
  model::TrackId track_of(Sample const& sample, TraceStore& store);

  CaptureWindow& window_;
  DeviceRegistry const& devices_;
  std::chrono::milliseconds const period_;
  std::string const service_;
  std::atomic<bool> wanted_{false};  ///< the program uses CUDA

  mutable std::mutex mutex_;  ///< all below
  bool is_stopping_ = false, is_stopped_ = false;
  std::optional<std::string> visible_devices_, device_order_;
  std::unique_ptr<SamplingThread> thread_;  ///< once it is there, it stays
  std::string outcome_;

  // The writer thread's own.
  uint64_t device_version_ = 0;
  std::vector<Sample> drained_;
  SamplingThread::Facts facts_;
  std::map<std::pair<int32_t, Counter>, model::TrackId> tracks_;
};

}  // namespace stepscope::tracer::nvml
