// The finite differences of selftest agree with the host backend, whose layers have tests of their
// own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "selftest/selftest.h"

namespace stepscope::selftest {
namespace {

using ::testing::HasSubstr;

TEST(SelftestGradients, OfTheHostBackendAreRight) {
  std::vector<Check> checks;
  check_gradients("host", [&](Check const& check) { checks.push_back(check); });
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks.front().verdict, Verdict::kGood) << checks.front().found;
  for (char const* const layer :
       {"convolution", "fully connected", "local normalization", "max pooling"})
    EXPECT_THAT(checks.front().found, HasSubstr(layer));
}

TEST(SelftestGradients, OfADeviceThatIsNotThereAreAFailure) {
  std::vector<Check> checks;
  check_gradients("nothing", [&](Check const& check) { checks.push_back(check); });
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks.front().verdict, Verdict::kFailure);
}

}  // namespace
}  // namespace stepscope::selftest
