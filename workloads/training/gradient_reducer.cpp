// Buckets of gradients from the backward pass to their exchange; see gradient_reducer.h.
#include "workloads/training/gradient_reducer.h"

namespace stepscope::workloads {

void GradientReducer::begin(int64_t batch) {
  batch_ = batch;
  completed_ = 0;
}

void GradientReducer::ready(size_t last) {
  if (settings_.overlap) complete_up_to(last);
}

void GradientReducer::finish() {
  if (!buckets_.empty()) complete_up_to(buckets_.back().last);
}

void GradientReducer::complete_up_to(size_t last) {
  while (completed_ < buckets_.size() && buckets_[completed_].last <= last) complete(completed_++);
}

void GradientReducer::complete(size_t b) {
  Bucket const& bucket = buckets_[b];
  float* const gradients = gradients_ + bucket.offset;

  if (settings_.accumulate > 1) {
    float* const sum = accumulated_ + bucket.offset;
    if (is_last_batch()) {
      float const mean = 1.0F / static_cast<float>(settings_.accumulate);
      device_.run("accumulate.mean", elementwise::AddScaled{sum, gradients, mean}, bucket.count);
    } else if (batch_ == 0) {
      device_.run("accumulate.first", elementwise::Copy{gradients, sum}, bucket.count);
    } else {
      device_.run("accumulate.add", elementwise::AddScaled{gradients, sum, 1.0F}, bucket.count);
    }
  }

  if (!is_last_batch() || scheme_ == nullptr || !scheme_->exchanges()) return;
  if (at_exchange_) {
    at_exchange_(b);
  } else {
    scheme_->exchange(b);
  }
}

}  // namespace stepscope::workloads
