// `stepscope selftest` as a user runs it.
#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"
#include "tests/support/paths.h"

namespace stepscope::e2e {
namespace {

using ::testing::HasSubstr;

class Selftest : public Program {};

TEST_F(Selftest, OfHostDevicesPassesAndKeepsWhatItRecorded) {
  Outcome const outcome = stepscope("selftest --device host:2 --keep kept");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("PASS  launches"));
  EXPECT_THAT(outcome.output, HasSubstr("8 passed, 0 failed, 0 skipped\n"));
  EXPECT_TRUE(std::filesystem::exists(path("kept/training")));
  EXPECT_EQ(stepscope("info kept/training").code, 0);
}

TEST_F(Selftest, AsJsonHasEachCheckOnceAndTheSums) {
  Outcome const outcome = stepscope("selftest --device host:1 --json");
  auto const report = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.output;
  EXPECT_EQ(report["failed"], 0) << outcome.output;
  EXPECT_EQ(report["passed"].get<size_t>() + report["skipped"].get<size_t>(),
            report["checks"].size());
  for (auto const& check : report["checks"])
    EXPECT_FALSE(check["found"].get<std::string>().empty()) << check;
}

TEST_F(Selftest, OnCudaSaysWhyItIsSkippedOrPasses) {
  Outcome const outcome = stepscope("selftest --device cuda");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" 0 failed, "));
}

TEST_F(Selftest, ItsCudaProgramIsNotChangedByBeingRecordedWhereThereIsNoDriver) {
  std::string const probe =
      "'" +
      std::filesystem::absolute(support::build_path("libexec/stepscope/stepscope-cuda-probe"))
          .string() +
      "'";

  Outcome const alone = shell(probe + " work");
  if (alone.code == 127) GTEST_SKIP() << "built without nvcc";
  if (alone.code == 0) GTEST_SKIP() << "there is a GPU: selftest records it";

  Outcome const recorded = stepscope("record -o run -- " + probe + " work");
  EXPECT_EQ(recorded.code, alone.code) << recorded.output;
  EXPECT_THAT(recorded.output, HasSubstr(alone.output));
  EXPECT_THAT(recorded.output, HasSubstr("nothing was recorded"));
}

TEST_F(Selftest, RefusesADeviceThatThereIsNone) {
  Outcome const outcome = stepscope("selftest --device toaster");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("toaster"));
}

}  // namespace
}  // namespace stepscope::e2e
