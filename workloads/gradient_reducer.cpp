// Buckets of gradients from backward pass to mean; see gradient_reducer.h.
#include "workloads/gradient_reducer.h"

#include "trace/base/check.h"

namespace stepscope::workloads {

void GradientReducer::begin(int64_t batch) {
  batch_ = batch;
  completed_ = 0;
  reduced_.clear();
}

void GradientReducer::ready(size_t last) {
  if (settings_.overlap) complete_up_to(last);
}

void GradientReducer::finish() {
  if (!buckets_.empty()) complete_up_to(buckets_.back().last);
}

void GradientReducer::complete_up_to(size_t last) {
  while (completed_ < buckets_.size() && buckets_[completed_].last <= last) complete(buckets_[completed_++]);
}

void GradientReducer::complete(Bucket const& bucket) {
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
  if (!is_last_batch() || communicator_ == nullptr) return;
  device_.wait(StreamKind::kCommunication, device_.record(StreamKind::kCompute));
  device_.collective(bucket.name.c_str(), *communicator_, {CollectiveOp::kAllReduce, gradients, gradients, bucket.count});
  reduced_.push_back(device_.record(StreamKind::kCommunication));
}

void GradientReducer::await(size_t b) {
  if (communicator_ == nullptr) return;
  STEPSCOPE_CHECK(b < reduced_.size());
  device_.wait(StreamKind::kCompute, reduced_[b]);
}

}  // namespace stepscope::workloads
