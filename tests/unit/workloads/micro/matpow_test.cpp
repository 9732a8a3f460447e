// Matrix powers against a naive product, one device against two.
#include "workloads/micro/matpow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/reference.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

using ::testing::HasSubstr;

MatpowOptions small(int64_t size, int64_t power) {
  MatpowOptions o;
  o.size = size;
  o.power = power;
  o.repeat = 2;
  return o;
}

TEST(Matpow, EqualsThePowersByRepeatedProducts) {
  for (int64_t const power : {1, 2, 5}) {
    MatpowOptions const o = small(9, power);
    MatpowResult const result = compute_matpow(o).value();

    reference::Values expected(81);
    for (uint64_t const number : {0, 1}) {
      Random random = Random::of(o.seed, number);
      reference::Values matrix(81);
      for (double& entry : matrix) entry = static_cast<double>(random.normal() / 3.0F);

      reference::Values product = matrix;
      for (int64_t n = 1; n < power; ++n)
        product = reference::matmul({1, 9, 9, 9}, product, matrix, reference::Values(81));
      for (size_t i = 0; i < 81; ++i) expected[i] += product[i];
    }

    for (size_t i = 0; i < 81; ++i)
      ASSERT_NEAR(result.one_device[i], expected[i], 1e-5) << power << " at " << i;
  }
}

TEST(Matpow, TwoDevicesGiveWhatOneGives) {
  MatpowResult const result = compute_matpow(small(64, 4)).value();
  EXPECT_EQ(result.one_device_ns.size(), 2U);
  EXPECT_EQ(result.two_devices_ns.size(), 2U);
  ASSERT_EQ(result.one_device.size(), 64U * 64U);
  for (size_t i = 0; i < result.one_device.size(); ++i)
    ASSERT_NEAR(result.one_device[i], result.two_devices[i], 1e-5);
}

TEST(Matpow, NeedsTwoDevicesAndMemory) {
  MatpowOptions o = small(8, 2);
  o.device = "host:1";
  EXPECT_THAT(compute_matpow(o).error().message, HasSubstr("host:2"));
  o = small(2048, 2);
  o.memory_limit_mib = 20;
  EXPECT_THAT(compute_matpow(o).error().message,
              ::testing::AllOf(HasSubstr("out of memory"), HasSubstr("16.0 MiB")));
  std::vector<std::string> const bad = {"--size", "0"};
  EXPECT_THAT(run_matpow(bad).error().message, HasSubstr("--help"));
}

}  // namespace
}  // namespace stepscope::workloads
