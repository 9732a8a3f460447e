// Times of CUDA events; see event.h.
#include "workloads/backend/cuda/event.h"

#include <cmath>
#include <utility>

namespace stepscope::workloads::cuda {
EventPool::~EventPool() {
  for (cudaEvent_t const event : spare_) cudaEventDestroy(event);
}

cudaEvent_t EventPool::take() {
  {
    std::lock_guard const lock(mutex_);
    if (!spare_.empty()) {
      cudaEvent_t const event = spare_.back();
      spare_.pop_back();
      return event;
    }
  }

  cudaEvent_t event = nullptr;
  return cudaEventCreate(&event) == cudaSuccess ? event : nullptr;
}

void EventPool::give(cudaEvent_t event) {
  if (event == nullptr) return;
  std::lock_guard const lock(mutex_);
  spare_.push_back(event);
}

ClockBase::~ClockBase() { pool->give(event); }

std::shared_ptr<ClockBase const> ClockBase::measure(std::shared_ptr<EventPool> const& pool,
                                                    cudaStream_t idle, int64_t tolerance_ns) {
  constexpr int kTries = 3;
  std::shared_ptr<ClockBase> best;
  int64_t shortest = tolerance_ns;

  for (int i = 0; i < kTries; ++i) {
    auto base = std::make_shared<ClockBase>();
    base->pool = pool;
    base->event = pool->take();
    int64_t const begin = now_ns();
    if (base->event == nullptr || cudaEventRecord(base->event, idle) != cudaSuccess) return best;

    cudaError_t state = cudaErrorNotReady;
    while ((state = cudaEventQuery(base->event)) == cudaErrorNotReady &&
           now_ns() - begin < tolerance_ns) {
    }

    int64_t const took = now_ns() - begin;
    cudaGetLastError();  // "not ready" stays behind, and the next launch would be taken for failed
    if (state != cudaSuccess || took >= shortest) continue;

    shortest = took;
    base->host_ns = begin + took / 2;
    best = std::move(base);
  }
  return best;
}

CudaEvent::~CudaEvent() { pool_->give(event_); }

int64_t CudaEvent::reached_ns() const {
  float since_base_ms = 0;
  if (event_ == nullptr ||
      cudaEventElapsedTime(&since_base_ms, base_->event, event_) != cudaSuccess)
    return base_->host_ns;
  constexpr double kNsPerMs = 1e6;
  return base_->host_ns + std::llround(static_cast<double>(since_base_ms) * kNsPerMs);
}

}  // namespace stepscope::workloads::cuda
