// Events of CUDA devices with times on the host's clock. A GPU reports only how long two events are
// apart, so each event is compared with a base event whose host time is known. The base is measured
// anew now and then, as the two clocks drift (and as CUDA gives the distance in float
// milliseconds).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "workloads/backend/backend.h"

namespace stepscope::workloads::cuda {

/// The host's clock, that of annotations.
inline int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// Reuses events of one GPU: making one costs as much as a launch.
class EventPool {
 public:
  ~EventPool();
  EventPool() = default;
  EventPool(EventPool const&) = delete;
  EventPool& operator=(EventPool const&) = delete;

  /// Null: CUDA made none (cudaGetLastError() says why). The GPU must be the current one.
  cudaEvent_t take();
  void give(cudaEvent_t event);

 private:
  std::mutex mutex_;
  std::vector<cudaEvent_t> spare_;
};

/// An event with its host time.
struct ClockBase {
  ~ClockBase();
  std::shared_ptr<EventPool> pool;
  cudaEvent_t event = nullptr;
  int64_t host_ns = 0;

  /// The best of a few tries on a stream that does nothing else; null when none took less than
  /// the tolerance.
  static std::shared_ptr<ClockBase const> measure(std::shared_ptr<EventPool> const& pool,
                                                  cudaStream_t idle,
                                                  int64_t tolerance_ns = kToleranceNs);
  static constexpr int64_t kToleranceNs = 1'000'000;
  /// For a GPU that never answers within it: other programs use it, or a debugger or a sanitizer
  /// stands between. Times of operations are then wrong by up to half of what the answer took.
  static constexpr int64_t kSlowToleranceNs = 5'000'000'000;
  static constexpr int64_t kMaxAgeNs = 1'000'000'000;  ///< 10 ppm of drift are 10 µs by then
};

class CudaEvent final : public EventState {
 public:
  CudaEvent(std::shared_ptr<EventPool> pool, std::shared_ptr<ClockBase const> base,
            cudaEvent_t event)
      : pool_(std::move(pool)), base_(std::move(base)), event_(event) {}
  ~CudaEvent() override;
  CudaEvent(CudaEvent const&) = delete;
  CudaEvent& operator=(CudaEvent const&) = delete;

  /// The base's time where the GPU tells none.
  [[nodiscard]] int64_t reached_ns() const override;
  /// Null on a device that has failed.
  [[nodiscard]] cudaEvent_t event() const { return event_; }

 private:
  std::shared_ptr<EventPool> pool_;
  std::shared_ptr<ClockBase const> base_;
  cudaEvent_t event_;
};

}  // namespace stepscope::workloads::cuda
