// Element-wise operations of the host backend: ReLU gradient, softmax with cross entropy, and the SGD update.
#include <algorithm>
#include <cmath>

#include "workloads/backend/host/host_device.h"

namespace stepscope::workloads::host {
namespace {

struct RowResult {
  double loss;
  bool correct;
};

/// One row of softmax_cross_entropy; `scale` = 1 / batch.
RowResult softmax_row(float const* logits, int64_t classes, int32_t label, float scale, float* d_logits) {
  if (label < 0) {
    std::fill_n(d_logits, classes, 0.0F);
    return {0.0, false};
  }
  float const* const largest = std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[c] - *largest));
  double const log_sum = std::log(sum) + static_cast<double>(*largest);
  for (int64_t c = 0; c < classes; ++c) {
    auto const probability = static_cast<float>(std::exp(static_cast<double>(logits[c]) - log_sum));
    d_logits[c] = (probability - (c == label ? 1.0F : 0.0F)) * scale;
  }
  return {log_sum - static_cast<double>(logits[label]), largest - logits == label};
}

}  // namespace

void HostDevice::relu_backward(char const* name, float const* y, float* dy, size_t count) {
  launch_kernel(name, static_cast<double>(count), 3 * count * sizeof(float), [y, dy, count] {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; ++i) dy[i] = y[i] > 0.0F ? dy[i] : 0.0F;
  });
}

void HostDevice::softmax_cross_entropy(char const* name, int64_t batch, int64_t classes, float const* logits,
                                       int32_t const* labels, float* d_logits, float* result) {
  uint64_t const bytes = static_cast<uint64_t>(2 * batch * classes) * sizeof(float);
  launch_kernel(name, 4.0 * static_cast<double>(batch * classes), bytes, [=] {
    float const scale = 1.0F / static_cast<float>(batch);
    double loss = 0;
    int64_t correct = 0;
    for (int64_t row = 0; row < batch; ++row) {  // one thread: a batch of ten classes is a few microseconds
      RowResult const r = softmax_row(logits + row * classes, classes, labels[row], scale, d_logits + row * classes);
      loss += r.loss;
      correct += r.correct ? 1 : 0;
    }
    result[0] = static_cast<float>(loss / static_cast<double>(batch));
    result[1] = static_cast<float>(correct);
  });
}

void HostDevice::sgd_update(char const* name, float* weights, float const* gradients, size_t count, float rate, float decay) {
  launch_kernel(name, 4.0 * static_cast<double>(count), 3 * count * sizeof(float), [=] {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < count; ++i) weights[i] -= rate * (gradients[i] + decay * weights[i]);
  });
}

}  // namespace stepscope::workloads::host
