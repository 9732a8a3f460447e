// A test that has one host device: values in double there and back, and comparison with a twin and
// with its finite differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/unit/workloads/reference.h"
#include "workloads/backend/backend.h"
#include "workloads/data/random.h"

namespace stepscope::workloads::testing {

// Float sums of up to 1,600 products of order 1 keep 5 digits.
constexpr double kTolerance = 2e-4;
// Central differences in double: truncation and rounding are both below 1e-8 here.
constexpr double kStep = 1e-5;
// Elements of a gradient that are checked; all elements where there are fewer.
constexpr size_t kChecked = 60;

class HostDeviceTest : public ::testing::Test {
 protected:
  using Values = reference::Values;

  HostDeviceTest() : group_(open_devices("host", {}).value()), device_(*group_.devices.front()) {}

  Buffer upload(Values const& values) {
    std::vector<float> const floats(values.begin(), values.end());
    Buffer buffer =
        device_.allocate(floats.size() * sizeof(float), MemoryPurpose::kOther, "test").value();
    device_.copy(StreamKind::kCompute, "upload", buffer.data(), floats.data(), buffer.bytes(),
                 CopyDirection::kHostToDevice);
    device_.synchronize();
    return buffer;
  }
  Buffer empty(size_t count) { return upload(Values(count, -77.0)); }
  Values download(Buffer const& buffer) {
    std::vector<float> floats(buffer.bytes() / sizeof(float));
    device_.copy(StreamKind::kCompute, "download", floats.data(), buffer.data(), buffer.bytes(),
                 CopyDirection::kDeviceToHost);
    device_.synchronize();
    return {floats.begin(), floats.end()};
  }
  /// Values that float represents exactly.
  Values random(size_t count, float scale = 1.0F) {
    Values values(count);
    for (double& value : values) value = static_cast<double>(random_.uniform(-scale, scale));
    return values;
  }
  static double dot(Values const& a, Values const& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  void expect_near(Values const& actual, Values const& expected, char const* what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], kTolerance * (1.0 + std::fabs(expected[i])))
          << what << " at " << i;
    }
  }
  /// `gradient` is d loss / d at; checked by moving single elements of `at`.
  void expect_gradient(Values const& gradient, Values at,
                       std::function<double(Values const&)> const& loss, char const* what) {
    ASSERT_EQ(gradient.size(), at.size()) << what;
    for (size_t k = 0; k < std::min(at.size(), kChecked); ++k) {
      size_t const i = at.size() <= kChecked ? k : random_.below(static_cast<uint32_t>(at.size()));
      double const here = at[i];
      at[i] = here + kStep;
      double const above = loss(at);
      at[i] = here - kStep;
      double const below = loss(at);
      at[i] = here;

      double const expected = (above - below) / (2 * kStep);
      ASSERT_NEAR(gradient[i], expected, kTolerance * (1.0 + std::fabs(expected)))
          << what << " at " << i;
    }
  }

  DeviceGroup group_;
  Device& device_;
  Random random_{7};
};

}  // namespace stepscope::workloads::testing
