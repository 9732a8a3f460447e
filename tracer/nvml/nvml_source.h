// The NVML source: a thread of its own reads the counters of the process's GPUs every few milliseconds, from the moment on when
// the program starts CUDA. A call of NVML takes 10 to 100 µs and some wait for milliseconds: nothing for the writer thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tracer/core/capture_window.h"
#include "tracer/core/source.h"
#include "tracer/nvml/sampler.h"

namespace stepscope::tracer::nvml {

class NvmlSource : public Source {
 public:
  using Loader = std::function<std::optional<Api>()>;

  /// `load` finds NVML, on the source's thread. The window outlives the source.
  NvmlSource(CaptureWindow& window, std::chrono::milliseconds period, Loader load)
      : window_(window), period_(period), load_(std::move(load)) {}
  ~NvmlSource() override { stop(); }

  void driver_starts() override;
  void program_exits() override { request_stop(); }
  void snapshot() override;
  void drain(TraceStore& store, ClockFit const& clock) override;
  void finish(TraceStore& store, int64_t end_ns) override;
  [[nodiscard]] bool idle() const override { return true; }
  void refresh(TraceStore& /*store*/) override {}
  [[nodiscard]] uint64_t dropped() const override { return 0; }
  void release() override { stop(); }
  void lock_for_fork() override { mutex_.lock(); }
  void unlock_after_fork() override { mutex_.unlock(); }

 private:
  void run();
  /// What became of it, for people.
  std::string sample_until_stopped();
  bool wait_until(std::chrono::steady_clock::time_point time);
  void request_stop();
  void stop();
  model::TrackId track_of(Sample const& sample, TraceStore& store);

  CaptureWindow& window_;
  std::chrono::milliseconds const period_;
  Loader const load_;
  std::atomic<bool> wanted_{false};  ///< the program uses CUDA
  std::thread thread_;

  std::mutex mutex_;  ///< all below
  std::condition_variable wake_;
  bool stop_requested_ = false;
  std::optional<std::string> visible_devices_;
  std::vector<Sample> samples_;
  std::string outcome_;

  // The writer thread's own.
  std::vector<Sample> drained_;
  std::map<std::pair<int32_t, Counter>, model::TrackId> tracks_;
};

}  // namespace stepscope::tracer::nvml
