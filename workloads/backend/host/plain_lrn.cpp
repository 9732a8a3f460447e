// Plain local response normalisation; see plain_lrn.h. With s = bias + alpha · Σ x² over the
// window: y = x · s^−β, and dx_i = dy_i · s_i^−β − 2 · alpha · β · x_i · Σ_{j in window of i} dy_j
// · x_j · s_j^(−β−1).
#include "workloads/backend/host/plain_lrn.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace stepscope::workloads::host {
namespace {

/// What one thread needs for one row of channels; the padded rows have `radius` zeros on both
/// sides.
struct RowScratch {
  explicit RowScratch(LrnShape const& s)
      : padded(static_cast<size_t>(s.channels + 2 * s.radius)),
        sum(static_cast<size_t>(s.channels)),
        scale(static_cast<size_t>(s.channels)),
        power(static_cast<size_t>(s.channels)) {}
  std::vector<float> padded, sum, scale, power;
};

/// sum[c] = Σ padded[c … c + 2 · radius]
void window_sums(RowScratch& r, int64_t radius) {
  size_t const channels = r.sum.size();
  float const* const padded = r.padded.data();
  float* const sum = r.sum.data();
  std::fill_n(sum, channels, 0.0F);
  for (int64_t offset = 0; offset <= 2 * radius; ++offset) {
    float const* const from = padded + offset;
#pragma omp simd
    for (size_t c = 0; c < channels; ++c) sum[c] += from[c];
  }
}

/// Fills scale (s) and power (s^−β) of the row.
void row_power(LrnShape const& s, float const* x, RowScratch& r) {
  auto const channels = static_cast<size_t>(s.channels);
  float* const middle = r.padded.data() + s.radius;
#pragma omp simd
  for (size_t c = 0; c < channels; ++c) middle[c] = x[c] * x[c];

  window_sums(r, s.radius);
  float const* const sum = r.sum.data();
  float* const scale = r.scale.data();
  float* const power = r.power.data();
#pragma omp simd
  for (size_t c = 0; c < channels; ++c) scale[c] = s.bias + s.alpha * sum[c];

  constexpr float kUsualBeta =
      0.75F;  // two square roots instead of a power: vector code instead of a call per element
  if (s.beta == kUsualBeta) {
#pragma omp simd
    for (size_t c = 0; c < channels; ++c)
      power[c] = 1.0F / std::sqrt(scale[c] * std::sqrt(scale[c]));
  } else {
    for (size_t c = 0; c < channels; ++c) power[c] = std::pow(scale[c], -s.beta);
  }
}

void forward_row(LrnShape const& s, float const* x, float* y, RowScratch& r) {
  row_power(s, x, r);
  float const* const power = r.power.data();
#pragma omp simd
  for (size_t c = 0; c < r.power.size(); ++c) y[c] = x[c] * power[c];
}

void backward_row(LrnShape const& s, float const* x, float const* dy, float* dx, RowScratch& r) {
  row_power(s, x, r);

  auto const channels = static_cast<size_t>(s.channels);
  float const* const power = r.power.data();
  float const* const scale = r.scale.data();
  float const* const sum = r.sum.data();
  float* const middle = r.padded.data() + s.radius;

#pragma omp simd
  for (size_t c = 0; c < channels; ++c) middle[c] = dy[c] * x[c] * power[c] / scale[c];
  window_sums(r, s.radius);

  float const factor = 2.0F * s.alpha * s.beta;
#pragma omp simd
  for (size_t c = 0; c < channels; ++c) dx[c] = dy[c] * power[c] - factor * x[c] * sum[c];
}

class PlainLrn final : public Lrn {
 public:
  PlainLrn(HostDevice& device, std::string_view name, LrnShape const& shape)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        backward_name_(fmt::format("{}.backward", name)),
        shape_(shape),
        rows_(shape.batch * shape.height * shape.width),
        bytes_(static_cast<uint64_t>(2 * rows_ * shape.channels) * sizeof(float)) {}

  void forward(float const* x, float* y) override {
    device_.launch_kernel(forward_name_.c_str(), 0.0, bytes_, [=, this] {
#pragma omp parallel
      {
        RowScratch scratch(shape_);

#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows_; ++row) {
          forward_row(shape_, x + row * shape_.channels, y + row * shape_.channels, scratch);
        }
      }
    });
  }
  void backward(float const* x, float const* dy, float* dx) override {
    device_.launch_kernel(backward_name_.c_str(), 0.0, bytes_, [=, this] {
#pragma omp parallel
      {
        RowScratch scratch(shape_);

#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows_; ++row) {
          int64_t const at = row * shape_.channels;
          backward_row(shape_, x + at, dy + at, dx + at, scratch);
        }
      }
    });
  }

 private:
  HostDevice& device_;
  std::string forward_name_, backward_name_;
  LrnShape shape_;
  int64_t rows_;
  uint64_t bytes_;
};

}  // namespace

std::unique_ptr<Lrn> make_plain_lrn(HostDevice& device, std::string_view name,
                                    LrnShape const& shape) {
  return std::make_unique<PlainLrn>(device, name, shape);
}

}  // namespace stepscope::workloads::host
