// Stepscope beside a profiler in the program itself: both record where CUPTI has several
// subscribers. Elsewhere the one that comes second is refused, and says so; the program goes on.
#include "tests/cuda_doubles/tests/over_doubles.h"

namespace stepscope::cuda_doubles {
namespace {

using model::EventKind;
using ::testing::HasSubstr;

constexpr uint64_t kFills = 20;  ///< of the program
constexpr char const* kSeveral = "DOUBLE_CUPTI_VERSION=130401 DOUBLE_CUDA_DRIVER=13040";

class CuptiSubscribersOverDoubles : public OverDoubles {
 protected:
  /// Records two_tools (two_tools/two_tools.cpp says what its arguments are) into "run".
  [[nodiscard]] e2e::Outcome record(std::string const& arguments, std::string const& knobs) const {
    auto const program =
        std::filesystem::absolute(support::build_path("cuda_doubles/bin/two_tools"));
    return over_doubles("record -o run -- '" + program.string() + "' " + arguments, knobs);
  }
  void expect_recorded() {
    EXPECT_EQ(rows_of("run").of(EventKind::kMemset), kFills);
    EXPECT_EQ(handed()["fills"], kFills);
  }
};

TEST_F(CuptiSubscribersOverDoubles, BothRecordWhereStepscopeCameFirst) {
  auto const outcome = record("shared second", kSeveral);
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: 20 fills"));
  expect_recorded();
}

TEST_F(CuptiSubscribersOverDoubles, BothRecordWhereTheProgramsToolCameFirst) {
  auto const outcome = record("shared first", kSeveral);
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: 20 fills"));
  expect_recorded();
}

TEST_F(CuptiSubscribersOverDoubles, AClassicToolThatCameFirstIsNamedAsTheReason) {
  auto const outcome = record("classic first", kSeveral);
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: 20 fills"));
  EXPECT_THAT(outcome.output, HasSubstr("another profiler holds CUPTI in this process"));
  EXPECT_EQ(rows_of("run").of(EventKind::kMemset), 0U);
}

TEST_F(CuptiSubscribersOverDoubles, AToolThatAllowsNoOtherIsNamed) {
  auto const outcome = record("alone first", kSeveral);
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("because of \"CUPTI for Monitor\""));
  EXPECT_THAT(outcome.output, HasSubstr("tool: 20 fills"));
}

TEST_F(CuptiSubscribersOverDoubles, AClassicToolThatComesSecondIsRefusedAndTheProgramGoesOn) {
  auto const outcome = record("classic second", kSeveral);
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: refused with 39"));
  EXPECT_THAT(outcome.output, HasSubstr("program: done"));
  expect_recorded();
}

TEST_F(CuptiSubscribersOverDoubles, OnAnOldDriverStepscopeTakesCuptiAlone) {
  auto const outcome =
      record("shared second", "DOUBLE_CUPTI_VERSION=130401 DOUBLE_CUDA_DRIVER=13000");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: refused with 39"));
  expect_recorded();
}

TEST_F(CuptiSubscribersOverDoubles, OnRequestStepscopeTakesCuptiAlone) {
  auto const outcome = record("shared second", std::string(kSeveral) + " STEPSCOPE_CUPTI_SHARED=0");
  SKIP_WITHOUT_NAMESPACE(outcome);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("tool: refused with 39"));
  expect_recorded();
}

/// A whole training: every record of this subscriber is a row, in CUPTI's clock and another one.
TEST_F(CuptiSubscribersOverDoubles, EveryRecordOfATrainingIsARow) {
  auto const outcome = over_doubles(
      "profile cifar10 -o run --device cuda --batch 2 --steps 2 --no-evaluate --log-every 0 --json",
      std::string(kSeveral) + " DOUBLE_CUPTI_AHEAD_NS=5000000000");
  SKIP_WITHOUT_NAMESPACE(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_all_rows(rows_of("run"), handed());
  EXPECT_EQ(rows_of("run").unmatched, 0U);
}

}  // namespace
}  // namespace stepscope::cuda_doubles
