// The CUDA program's checks, with a program in its place that needs no GPU: every way in which it
// ends is recorded whole, and what is missing fails.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "selftest/selftest.h"
#include "tests/support/paths.h"

namespace stepscope::selftest {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Probe : public ::testing::Test {
 protected:
  Probe() { fs::create_directories(folder_); }
  ~Probe() override {
    fs::remove_all(folder_);
    ::unsetenv("STAND_IN_LOSES");
    ::unsetenv("STAND_IN_HAS_NO_DEVICE");
  }
  std::vector<Check> check(std::string const& probe = support::build_path("tests/stand_in_probe")) {
    std::vector<Check> checks;
    check_probe({fs::absolute(support::build_path("bin/stepscope")).string(),
                 fs::absolute(probe).string(), "", folder_.string()},
                [&](Check const& one) { checks.push_back(one); });
    return checks;
  }

 private:
  fs::path folder_ = fs::path(::testing::TempDir()) /
                     (std::string("stepscope_probe_") +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Probe, EveryModeOfACompleteCapturePasses) {
  std::vector<Check> const checks = check();
  ASSERT_EQ(checks.size(), 10U);
  for (Check const& one : checks)
    EXPECT_EQ(one.verdict, Verdict::kGood) << one.name << ": " << one.found;
  EXPECT_THAT(checks.front().found, HasSubstr("20 kernels, 0 copies"));
}

TEST_F(Probe, AMissingKernelFailsEveryMode) {
  ::setenv("STAND_IN_LOSES", "1", 1);
  for (Check const& one : check()) {
    EXPECT_EQ(one.verdict, Verdict::kFailure) << one.name << ": " << one.found;
    EXPECT_THAT(one.found, HasSubstr(one.name == "probe fork" ? "kernels: 38 instead of 40"
                                                              : "kernels: 19 instead of 20"));
  }
}

TEST_F(Probe, WithoutADeviceItIsSkippedWithTheProgramsWords) {
  ::setenv("STAND_IN_HAS_NO_DEVICE", "1", 1);
  std::vector<Check> const checks = check();
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks.front().verdict, Verdict::kSkipped);
  EXPECT_THAT(checks.front().found, HasSubstr("stand-in: no device"));
}

TEST_F(Probe, ABuildWithoutItSaysSo) {
  std::vector<Check> const checks = check("/nonexistent/probe");
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks.front().verdict, Verdict::kSkipped);
  EXPECT_THAT(checks.front().found, HasSubstr("not built"));
}

}  // namespace
}  // namespace stepscope::selftest
