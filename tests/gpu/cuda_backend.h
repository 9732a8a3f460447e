// Shared by the tests of the CUDA backend: a test with a host device and a CUDA device that do the
// same, and comparison of their results. Skipped with the reason where CUDA cannot be used.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/data/random.h"

namespace stepscope::workloads::testing {

using Array = std::vector<float>;

inline Array random_array(size_t count, uint64_t seed, float scale = 1.0F) {
  Array array(count);
  Random random = Random::of(seed, count);
  for (float& value : array) value = random.uniform(-scale, scale);
  return array;
}

template <class T>
Buffer upload(Device& device, std::vector<T> const& values) {
  static_assert(sizeof(T) == sizeof(float));
  Buffer buffer = device.allocate(values.size() * sizeof(T), MemoryPurpose::kOther, "test").value();
  device.copy(StreamKind::kCompute, "upload", buffer.data(), values.data(), buffer.bytes(),
              CopyDirection::kHostToDevice);
  device.synchronize();
  return buffer;
}
/// With values that no result is, so that what is not written shows.
inline Buffer empty(Device& device, size_t count) { return upload(device, Array(count, -77.0F)); }

inline Array download(Device& device, Buffer const& buffer) {
  Array values(buffer.bytes() / sizeof(float));
  device.synchronize();
  device.copy(StreamKind::kCompute, "download", values.data(), buffer.data(), buffer.bytes(),
              CopyDirection::kDeviceToHost);
  device.synchronize();
  auto const good = device.failure();
  EXPECT_TRUE(good.has_value()) << good.error().message;
  return values;
}

/// Error relative to the largest expected value: sums of many terms are as exact as their largest
/// ones.
inline void expect_near(Array const& actual, Array const& expected, double tolerance,
                        std::string const& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0;
  for (float const value : expected)
    largest = std::max(largest, std::fabs(static_cast<double>(value)));

  for (size_t i = 0; i < actual.size(); ++i) {
    double const difference =
        std::fabs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    ASSERT_LE(difference, tolerance * std::max(largest, 1e-6))
        << what << " at " << i << ": " << actual[i] << ", not " << expected[i];
  }
}

/// float32 sums of up to 100,000 products in another order, or by Winograd's algorithm.
constexpr double kFp32Tolerance = 1e-4;
/// Inputs with 10 bits of mantissa, 2⁻¹¹ off each; errors of a sum mostly cancel.
constexpr double kTf32Tolerance = 2e-3;
/// Inputs and, of convolutions, results with 7 bits of mantissa.
constexpr double kBf16Tolerance = 2e-2;

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_ = open_devices("cuda", {});
    if (!cuda_) GTEST_SKIP() << cuda_.error().message;
    host_ = open_devices("host", {});
    ASSERT_TRUE(host_.has_value());
  }
  [[nodiscard]] Device& cuda() { return *cuda_->devices.front(); }
  [[nodiscard]] Device& host() { return *host_->devices.front(); }

  /// `work` must leave the same on both devices; it returns named arrays.
  using Results = std::vector<std::pair<std::string, Array>>;
  void expect_same(std::function<Results(Device&)> const& work, double tolerance = kFp32Tolerance) {
    Results const expected = work(host()), actual = work(cuda());
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      expect_near(actual[i].second, expected[i].second, tolerance, expected[i].first);
  }

  Expected<DeviceGroup> cuda_, host_;
};

}  // namespace stepscope::workloads::testing
