// One device's gradients from the backward pass to their exchange with the other devices. They go
// bucket by bucket, behind the work that makes them, and as a mean over several batches where
// gradients are accumulated. What the exchange is: update_scheme.h.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/training/parameters.h"
#include "workloads/training/update_scheme.h"

namespace stepscope::workloads {

class GradientReducer {
 public:
  struct Settings {
    bool overlap =
        true;  ///< exchange a bucket as soon as it is complete, else after the backward pass
    int64_t accumulate = 1;  ///< batches whose mean is exchanged
  };
  /// `scheme` null: nothing is exchanged. `accumulated`: as large as `gradients`, null without
  /// accumulation. All must outlive the object.
  GradientReducer(Device& device, UpdateScheme* scheme, std::vector<Bucket> const& buckets,
                  float* gradients, float* accumulated, Settings const& settings)
      : device_(device),
        scheme_(scheme),
        buckets_(buckets),
        gradients_(gradients),
        accumulated_(accumulated),
        settings_(settings) {}

  /// A backward pass begins; `batch` counts from 0 to accumulate − 1 in each step.
  void begin(int64_t batch);
  /// The backward pass has enqueued the gradients of all parameters up to `last`.
  void ready(size_t last);
  /// The backward pass has enqueued everything.
  void finish();

  /// What is done with a batch's gradients.
  enum class Place : uint8_t { kFirst, kMiddle, kLast };
  [[nodiscard]] Place place() const {
    if (is_last_batch()) return Place::kLast;
    return batch_ == 0 ? Place::kFirst : Place::kMiddle;
  }

  // A backward pass that is captured and replayed (graphed_replica.h): everything but exchanges is
  // an operation of the device.

  /// Until end_capture(): where bucket `b` would be exchanged, `at_exchange(b)` is called instead.
  void begin_capture(std::function<void(size_t b)> at_exchange) {
    at_exchange_ = std::move(at_exchange);
  }
  /// The pass has not been done yet. Returns how many buckets it completes.
  size_t end_capture() {
    at_exchange_ = nullptr;
    return std::exchange(completed_, 0);
  }
  /// A replayed pass has enqueued the gradients of bucket `b`, which it said to be exchanged.
  void exchange(size_t b) { scheme_->exchange(b); }
  /// A replayed pass is enqueued: it has completed so many buckets, and exchanged those.
  void replayed(size_t completed) { completed_ = completed; }

 private:
  void complete_up_to(size_t last);
  void complete(size_t b);
  [[nodiscard]] bool is_last_batch() const { return batch_ + 1 == settings_.accumulate; }

  Device& device_;
  UpdateScheme* scheme_;
  std::vector<Bucket> const& buckets_;
  float *gradients_, *accumulated_;
  Settings settings_;
  int64_t batch_ = 0;
  size_t completed_ = 0;  ///< buckets of this batch
  std::function<void(size_t)> at_exchange_;
};

}  // namespace stepscope::workloads
