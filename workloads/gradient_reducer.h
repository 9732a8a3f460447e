// One device's gradients on their way to the mean over all devices: all-reduced bucket by bucket, behind the work that makes
// them, and over several batches where gradients are accumulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/parameters.h"

namespace stepscope::workloads {

class GradientReducer {
 public:
  struct Settings {
    bool overlap = true;     ///< reduce a bucket as soon as it is complete, else after the backward pass
    int64_t accumulate = 1;  ///< batches whose mean is reduced
  };
  /// `communicator` null: one device, nothing to reduce. `accumulated`: as large as `gradients`, null without accumulation. All
  /// must outlive the object.
  GradientReducer(Device& device, Communicator* communicator, std::vector<Bucket> const& buckets, float* gradients,
                  float* accumulated, Settings const& settings)
      : device_(device),
        communicator_(communicator),
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
  /// Holds the compute stream until bucket `b` is reduced. After the last batch's finish().
  void await(size_t b);

 private:
  void complete_up_to(size_t last);
  void complete(Bucket const& bucket);
  [[nodiscard]] bool is_last_batch() const { return batch_ + 1 == settings_.accumulate; }

  Device& device_;
  Communicator* communicator_;
  std::vector<Bucket> const& buckets_;
  float *gradients_, *accumulated_;
  Settings settings_;
  int64_t batch_ = 0;
  size_t completed_ = 0;        ///< buckets of this batch
  std::vector<Event> reduced_;  ///< of the step's buckets, in order
};

}  // namespace stepscope::workloads
