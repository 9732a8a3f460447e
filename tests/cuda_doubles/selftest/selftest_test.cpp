// The short checks of `stepscope selftest --device cuda`, over the doubles. What recording costs is
// not measured: the doubles have no speed that would mean anything. with_doubles.sh starts this
// program, which lies in the folder of the one that it records.
#include <filesystem>

#include <gtest/gtest.h>

#include "selftest/selftest.h"
#include "tests/support/paths.h"

namespace stepscope::selftest {
namespace {

class SelftestOverDoubles : public ::testing::Test {
 protected:
  SelftestOverDoubles() {
    auto const tree = std::filesystem::absolute(support::build_path("cuda_doubles"));
    setup_.program = tree / "bin" / "stepscope";
    setup_.probe = tree / "libexec" / "stepscope" / "stepscope-cuda-probe";
    setup_.device = "cuda";
    setup_.folder = (std::filesystem::path(::testing::TempDir()) / "stepscope_double_selftest") /
                    ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(setup_.folder);
    std::filesystem::create_directories(setup_.folder);
  }
  ~SelftestOverDoubles() override { std::filesystem::remove_all(setup_.folder); }

  /// Takes the checks: none may fail or be skipped.
  Report report() {
    return [this](Check const& check) {
      ++checks_;
      bool const has_passed = check.verdict == Verdict::kGood || check.verdict == Verdict::kWarning;
      EXPECT_TRUE(has_passed) << check.name << ": " << check.found;
    };
  }

  selftest::Setup setup_;
  int checks_ = 0;
};

TEST_F(SelftestOverDoubles, GradientsAgreeWithFiniteDifferences) {
  check_gradients("cuda", report());
  EXPECT_EQ(checks_, 1);
}

TEST_F(SelftestOverDoubles, EverythingThatATrainingLaunchesIsInItsTrace) {
  check_training(setup_, "cuda", report());
  EXPECT_EQ(checks_, 4);
}

TEST_F(SelftestOverDoubles, ThePlainCudaProgramIsRecordedWhateverEndItTakes) {
  check_probe(setup_, report());
  EXPECT_EQ(checks_, 10);
}

}  // namespace
}  // namespace stepscope::selftest
